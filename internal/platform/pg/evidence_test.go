package pg_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/models"
)

// unmarked are the columns that audit verify does not compare, with the reasons, by table.
func unmarked() map[string]map[string]string {
	out := map[string]map[string]string{}
	for _, e := range models.EvidenceTables {
		out[e.Name] = e.Unmarked
	}
	for _, t := range models.AttestedTables {
		if models.Recorded(t.Name) {
			out[t.Name] = t.Free
		}
	}
	return out
}

// Every column of the schema is evidence, or is not, with a reason; docs/audit.md has the reasons.
func TestEveryColumnIsEvidenceOrNotWithAReason(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	columns := map[string][]string{}
	for _, c := range storetest.Texts(t, st, `select table_name || ' ' || column_name from information_schema.columns
		where table_schema = 'public' and column_name <> 'row_mac'`) {
		table, column, _ := strings.Cut(c, " ")
		columns[table] = append(columns[table], column)
	}
	compared := map[string][]string{}
	for _, e := range models.EvidenceTables {
		compared[e.Name] = slices.Concat(e.Made, e.Moved)
	}
	for _, a := range models.AttestedTables {
		if models.Recorded(a.Name) {
			compared[a.Name] = a.Decides
		}
	}
	for table, reasons := range unmarked() {
		require.ElementsMatch(t, slices.Concat(compared[table], slices.Collect(maps.Keys(reasons))), columns[table], table)
		delete(columns, table)
	}
	page, err := os.ReadFile("../../../docs/audit.md")
	require.NoError(t, err)
	require.True(t, strings.Contains(string(page), strings.Join(unmarkedLines(), "\n")+"\n\n"), "docs/audit.md lacks:\n%s", strings.Join(unmarkedLines(), "\n"))
	for _, n := range models.NoEvidence {
		for _, table := range n.Tables {
			require.Contains(t, columns, table, "it is declared once")
			delete(columns, table)
		}
	}
	for table := range models.Unrecorded {
		delete(columns, table)
	}
	require.Empty(t, columns, "tables that are neither evidence nor not, with a reason")
}

// unmarkedLines are the lines of docs/audit.md about what is not compared.
func unmarkedLines() (out []string) {
	reasons := map[string][]string{}
	for _, n := range models.NoEvidence {
		reasons[n.Reason] = slices.Clone(n.Tables)
	}
	for table, reason := range models.Unrecorded {
		if _, compared := models.EvidenceOf(table); !compared {
			reasons[reason] = append(reasons[reason], table)
		}
	}
	for table, columns := range unmarked() {
		for column, reason := range columns {
			reasons[reason] = append(reasons[reason], table+"."+column)
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		out = append(out, fmt.Sprintf("| `%s` | %s |", strings.Join(slices.Sorted(slices.Values(reasons[reason])), "`, `"), reason))
	}
	return out
}
