package events

// HistoryOpenedData counts the payloads that were decrypted for one request, and names the workflows that they belong to.
type HistoryOpenedData struct {
	Workflows []string `json:"workflows"`
	Payloads  int      `json:"payloads"`
}

func (HistoryOpenedData) EventType() Type { return HistoryOpened }
