package events

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

// PersonAddressChangedData never contains the address.
type PersonAddressChangedData struct {
	Person string `json:"person"`
	State  string `json:"state" schema:"set|confirmed|removed"`
}

func (ChatAddressCreatedData) EventType() Type   { return ChatAddressCreated }
func (ChatAddressDeletedData) EventType() Type   { return ChatAddressDeleted }
func (PersonNoticesChosenData) EventType() Type  { return PersonNoticesChosen }
func (PersonAddressChangedData) EventType() Type { return PersonAddressChanged }
