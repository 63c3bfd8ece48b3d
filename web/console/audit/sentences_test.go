package audit

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/models"
)

// Each phrase names fields of its type. A type without one is described.
func TestPhrasesNameFieldsOfTheirTypes(t *testing.T) {
	t.Parallel()
	for _, kind := range events.Types() {
		d, _ := events.Lookup(kind)
		fields, _ := d.Schema["properties"].(map[string]any)
		known := append(slices.Collect(maps.Keys(fields)), "subject", "action", "decision")
		require.NotEmpty(t, described(string(kind)), kind)
		for _, phrase := range phrases[kind] {
			for _, field := range placeholder.FindAllStringSubmatch(phrase, -1) {
				require.Contains(t, known, field[1], "%s: %s", kind, phrase)
			}
			asked, _, _ := strings.Cut(phrase, " ")
			if field, asks := strings.CutSuffix(asked, "?"); asks {
				require.Contains(t, known, field, "%s: %s", kind, phrase)
			}
		}
	}
	for kind := range phrases {
		require.Contains(t, events.Types(), kind, "a phrase of a type that does not exist")
	}
}

func TestSentencesSayWhoDidWhatToWhat(t *testing.T) {
	t.Parallel()
	subject, action := "cus-1", "payment.release"
	names := map[string]string{"prs_01jqx3k5v8e2sbyk0c4m7t9wzd": "Bob"}
	for name, c := range map[string]struct {
		kind events.Type
		data map[string]any
		says string
	}{
		"taken":      {events.HoldAssigned, map[string]any{"assigned_to": "person:prs_01jqx3k5v8e2sbyk0c4m7t9wzd"}, "took the hold of cus-1"},
		"taken over": {events.HoldAssigned, map[string]any{"assigned_to": "person:prs_2", "previous": "person:prs_01jqx3k5v8e2sbyk0c4m7t9wzd"}, "took over the hold of cus-1 from Bob"},
		"released":   {events.HoldAssigned, map[string]any{"assigned_to": "", "previous": "person:prs_2"}, "released the hold of cus-1"},
		"approved":   {events.HoldApproved, map[string]any{"child_decision": "allow"}, "approved payment.release of cus-1: allow"},
		"state": {events.RecordsChanged, map[string]any{"records": []any{"lists lst_1 sha256:1", "list_entries lse_1 sha256:2", "list_entries lse_2 deleted"}},
			"sealed the new state of lists, list entries"},
		"unknown": {"later.event", nil, "later.event"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := models.Event{Type: string(c.kind), Subject: &subject, Action: &action}
			require.Equal(t, c.says, sentenceOf(e, c.data, names))
		})
	}
}

func TestTypesAreNamedByWords(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"hold.approved"}, typesNamed("hold.approved"))
	require.Equal(t, []string{"hold.assigned"}, typesNamed("took hold"))
	require.Contains(t, typesNamed("Approved"), "change.approved")
	require.Contains(t, typesNamed("sign-in failed"), "person.sign_in_failed")
	require.Empty(t, typesNamed("nonsense of this kind"))
}
