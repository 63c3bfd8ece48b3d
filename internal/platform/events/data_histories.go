package events

// Types of the events of workflow histories.
const (
	HistoryOpened Type = "history.opened"
)

// HistoryOpenedData counts the payloads that were decrypted for one request, and names the workflows that they belong to.
type HistoryOpenedData struct {
	Workflows []string `json:"workflows"`
	Payloads  int      `json:"payloads"`
}

func (HistoryOpenedData) EventType() Type { return HistoryOpened }

var historiesEvents = []Definition{
	audit("Payloads of workflow histories were decrypted for an auditor.", HistoryOpenedData{}),
}
