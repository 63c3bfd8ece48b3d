package evaluation_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/evaluation"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/models"
)

// A report reads the decisions of its actions in its window by an index, however many other decisions there are.
func TestTallyDecisionsReadsTheWindowByIndex(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	w := fixture.New(t, st, now)
	w.Decisions(w.AddAction("payments.other"), 40_000)
	w.Decisions(w.Action, 4000)
	w.Exec("vacuum analyze authorizations")
	since := now.Add(-1000 * time.Second)
	tally, err := evaluation.TallyDecisions(t.Context(), st, w.Scope, evaluation.Window{Actions: models.Strings{w.Action.ID}, Since: since, Until: now}, time.Minute)
	require.NoError(t, err)
	require.EqualValues(t, 1000, tally.Decisions)

	quote := func(s string) string { return "'" + s + "'" }
	plan := strings.Join(storetest.Texts(t, st, "explain "+strings.NewReplacer("$1", quote(w.Scope.Tenant), "$2", quote(w.Scope.Environment),
		"$3", "array["+quote(w.Action.ID)+"]", "$4", quote(since.Format(time.RFC3339)), "$5", quote(now.Format(time.RFC3339))).Replace(evaluation.TallyStatement)), "\n")
	require.Contains(t, plan, "authorizations_action_time")
	require.NotContains(t, plan, "Seq Scan on authorizations")
}
