package events

// Types of the events of exports and filters of the console.
const (
	ListExportStarted Type = "list.export_started"
	ListExportEnded   Type = "list.export_ended"
	FilterSaved       Type = "filter.saved"
	FilterRenamed     Type = "filter.renamed"
	FilterDeleted     Type = "filter.deleted"
)

// ListExportStartedData names a list of the console and the filters in force: name=value, or the name alone if the value may be
// personal data.
type ListExportStartedData struct {
	List    string   `json:"list"`
	Format  string   `json:"format" schema:"csv|jsonl"`
	Filters []string `json:"filters,omitempty"`
}

// ListExportEndedData counts the rows that were written. Complete is false if the export broke off, for which the reason is in the
// log of the process.
type ListExportEndedData struct {
	List     string   `json:"list"`
	Format   string   `json:"format" schema:"csv|jsonl"`
	Filters  []string `json:"filters,omitempty"`
	Rows     int64    `json:"rows"`
	Complete bool     `json:"complete"`
}

func (ListExportStartedData) EventType() Type { return ListExportStarted }
func (ListExportEndedData) EventType() Type   { return ListExportEnded }

// FilterSavedData names a filter that a person saved for a list of the console, not its content.
type FilterSavedData struct {
	Filter string `json:"filter"`
	List   string `json:"list"`
}

// FilterRenamedData has the fields of FilterSavedData.
type FilterRenamedData FilterSavedData

// FilterDeletedData has the fields of FilterSavedData.
type FilterDeletedData FilterSavedData

func (FilterSavedData) EventType() Type   { return FilterSaved }
func (FilterRenamedData) EventType() Type { return FilterRenamed }
func (FilterDeletedData) EventType() Type { return FilterDeleted }

var consoleEvents = []Definition{
	audit("A person started an export of a list of the console.", ListExportStartedData{}),
	audit("An export of a list of the console ended, complete or not.", ListExportEndedData{}),
	audit("A person saved a filter of a list of the console.", FilterSavedData{}),
	audit("A person renamed a saved filter.", FilterRenamedData{}),
	audit("A person deleted a saved filter.", FilterDeletedData{}),
}
