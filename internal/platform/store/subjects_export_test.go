package store

import "strings"

// SubjectTables are the tables that an erasure deletes from.
var SubjectTables = subjectTables

// TallyStatement is the statement of TallyDecisions.
const TallyStatement = tally

// ExportColumns are the columns of each table that is exported.
func ExportColumns() map[string][]string {
	out := map[string][]string{}
	for _, s := range exportSections {
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

// FactTally is the statement by which FactsFor counts decisions.
var FactTally = factTally(byExternalID)
