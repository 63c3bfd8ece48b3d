package events

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
