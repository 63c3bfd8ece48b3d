package store

// SubjectTables is the list that an erasure works through.
var SubjectTables = subjectTables

// ExportSectionNames are the sections of an export, named as their tables.
func ExportSectionNames() []string {
	names := make([]string, len(exportSections))
	for i, s := range exportSections {
		names[i] = s.name
	}
	return names
}
