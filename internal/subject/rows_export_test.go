package subject

import "strings"

// SubjectTables are the tables that an erasure deletes from.
var SubjectTables = subjectTables

// ExportColumns are the columns of each table that is exported.
func ExportColumns() map[string][]string {
	out := map[string][]string{}
	for _, s := range exportedTables {
		table, _, _ := strings.Cut(s.rows, " ")
		if strings.HasPrefix(table, "(") { // its rows are found by those of a different table
			table = s.name
		}
		for _, c := range strings.Fields(s.columns) {
			out[table] = append(out[table], strings.TrimLeft(c, "@#"))
		}
	}
	return out
}

// ExportTables are the tables that are exported.
func ExportTables() []string {
	var out []string
	for table := range ExportColumns() {
		out = append(out, table)
	}
	return out
}
