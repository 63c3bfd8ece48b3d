package store

import "strings"

// SubjectTables is the list that an erasure works through.
var SubjectTables = subjectTables

// TallyStatement is that of TallyDecisions.
const TallyStatement = tally

// ExportColumns are the columns of each table that is exported.
func ExportColumns() map[string][]string {
	out := map[string][]string{}
	for _, s := range exportSections {
		table, _, _ := strings.Cut(s.rows, " ")
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
