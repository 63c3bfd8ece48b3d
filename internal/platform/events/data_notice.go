package events

// Types of the events of notices.
const (
	ChatAddressCreated   Type = "chat_address.created"
	ChatAddressDeleted   Type = "chat_address.deleted"
	PersonNoticesChosen  Type = "person.notices_chosen"
	PersonAddressChanged Type = "person.address_changed"
)

// ChatAddressCreatedData names the host of a chat, never its URL.
type ChatAddressCreatedData struct {
	ChatAddress string `json:"chat_address"`
	Shape       string `json:"shape" schema:"slack|teams"`
	Host        string `json:"host"`
}

// ChatAddressDeletedData has the fields of ChatAddressCreatedData.
type ChatAddressDeletedData ChatAddressCreatedData

// PersonNoticesChosenData lists the choices of a person after the change, each an occasion and a channel, such as "opened email".
type PersonNoticesChosenData struct {
	Person  string   `json:"person"`
	Choices []string `json:"choices,omitempty"`
}

// PersonAddressChangedData contains neither the address nor the hours.
type PersonAddressChangedData struct {
	Person string `json:"person"`
	State  string `json:"state" schema:"set|confirmed|removed|timed"`
}

func (ChatAddressCreatedData) EventType() Type   { return ChatAddressCreated }
func (ChatAddressDeletedData) EventType() Type   { return ChatAddressDeleted }
func (PersonNoticesChosenData) EventType() Type  { return PersonNoticesChosen }
func (PersonAddressChangedData) EventType() Type { return PersonAddressChanged }

var noticeEvents = []Definition{
	audit("Notices about holds can be posted to a chat.", ChatAddressCreatedData{}),
	audit("Notices are no longer posted to a chat, and its URL was deleted.", ChatAddressDeletedData{}),
	audit("A person chose the occasions and channels of their notices.", PersonNoticesChosenData{}),
	audit("A person set, confirmed or removed the e-mail address for their notices, or said when it receives them.", PersonAddressChangedData{}),
}
