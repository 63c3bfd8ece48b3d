package events

// Types of the events of lists.
const (
	ListCreated Type = "list.created"
	ListChanged Type = "list.changed"
	ListDeleted Type = "list.deleted"
)

// ListCreatedData describes a new list, which has no entries.
type ListCreatedData struct {
	List     string `json:"list"`
	Name     string `json:"name"`
	Kind     string `json:"kind" schema:"text|country|iban_prefix"`
	Personal bool   `json:"personal"`
}

// ListChangedData has the ids of the entries that one change added, gave a different reason or expiry, and removed, and the version of
// the list with it. The entries have the values.
type ListChangedData struct {
	List    string   `json:"list"`
	Name    string   `json:"name"`
	Version int      `json:"version"`
	Added   []string `json:"added,omitempty"`
	Removed []string `json:"removed,omitempty"`
}

// ListDeletedData names a list that no policy in force read.
type ListDeletedData struct {
	List    string `json:"list"`
	Name    string `json:"name"`
	Version int    `json:"version"`
	Entries int    `json:"entries"`
}

func (ListCreatedData) EventType() Type { return ListCreated }
func (ListChangedData) EventType() Type { return ListChanged }
func (ListDeletedData) EventType() Type { return ListDeleted }

var listEvents = []Definition{
	audit("A list that rules can read was created.", ListCreatedData{}),
	audit("Entries of a list were added, changed or removed.", ListChangedData{}),
	audit("A list was deleted with its entries.", ListDeletedData{}),
}
