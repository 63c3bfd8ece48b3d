package authorization_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
)

// The counts of a decision are read with its facts, each as a range of an index that has all columns, however many other decisions
// the subject has.
func TestFactsCountDecisionsByIndex(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	w := fixture.New(t, st, now)
	w.Decisions(w.AddAction("payments.other"), 20_000)
	w.Decisions(w.Action, 8000)
	w.Exec("vacuum analyze authorizations")
	tallies := []authorization.DecisionTally{
		{Action: w.Action.Key, Decisions: []string{"allow"}, Since: now.Add(-time.Hour), Most: 1000},
		{Action: w.Action.Key, Decisions: []string{"allow", "challenge", "hold", "deny"}, Since: now.Add(-100 * time.Second), Most: 1000},
		{Action: w.Action.Key, Decisions: []string{"allow", "challenge", "hold", "deny"}, Since: now.Add(-24 * time.Hour), Most: 1000},
		{Action: "payments.unknown", Decisions: []string{"deny"}, Since: now.Add(-time.Hour), Most: 1000},
		{Action: w.Action.Key, Unapproved: true, Since: now.Add(-time.Hour), Most: 1000},
		{Action: w.Action.Key, Unapproved: true, Since: now.Add(-24 * time.Hour), Most: 1000},
	}
	wanted := authorization.Wanted{Subject: w.Subject.ExternalID, IdempotencyKey: "none", Tallies: tallies}
	facts, err := authorization.ReadFacts(t.Context(), st.Q, w.Scope, wanted)
	require.NoError(t, err)
	require.Equal(t, []int{899, 99, 1000, 0, 899, 1000}, facts.Tallies, "a count stops at its maximum")
	wanted.Subject = w.Subject.UID
	again, err := authorization.ReadFactsForFollowUp(t.Context(), st.Q, w.Scope, wanted)
	require.NoError(t, err)
	require.Equal(t, facts.Tallies, again.Tallies)
	w.Exec("update authorizations set parent_id = id where action_key = $1 and decided_at > $2", w.Action.Key, now.Add(-100*time.Second))
	w.Exec("update authorizations set standing_id = 'sta_any' where action_key = $1 and decided_at > $2 and parent_id is null", w.Action.Key, now.Add(-200*time.Second))
	wanted.Tallies = tallies[4:5]
	alone, err := authorization.ReadFactsForFollowUp(t.Context(), st.Q, w.Scope, wanted)
	require.NoError(t, err)
	require.Equal(t, []int{850}, alone.Tallies, "neither follow-up decisions nor those of a standing approval")
	w.Exec("update authorizations set parent_id = id, action_key = $1, decision = 'allow'", w.Action.Key)
	alone, err = authorization.ReadFactsForFollowUp(t.Context(), st.Q, w.Scope, wanted)
	require.NoError(t, err)
	require.Equal(t, []int{0}, alone.Tallies)
	wanted.Tallies = []authorization.DecisionTally{{Action: w.Action.Key, Unapproved: true, Since: now.Add(-1000 * time.Hour), Most: 1000}}
	alone, err = authorization.ReadFactsForFollowUp(t.Context(), st.Q, w.Scope, wanted)
	require.NoError(t, err)
	require.Equal(t, []int{authorization.UnknownTally}, alone.Tallies, "among too many")
	wanted.Tallies = nil
	none, err := authorization.ReadFactsForFollowUp(t.Context(), st.Q, w.Scope, wanted)
	require.NoError(t, err)
	require.Empty(t, none.Tallies)

	quote := func(s string) string { return "'" + s + "'" }
	since := quote(now.Add(-time.Hour).Format(time.RFC3339)) + "::timestamptz"
	for query, last := range map[string][]string{
		authorization.FactTally: {"$5", quote("allow"), "$6", since, "$7", "1000"}, authorization.FactUnapproved: {"$5", since, "$6", "1000"},
	} {
		values := append([]string{"$1", quote(w.Scope.Tenant), "$2", quote(w.Scope.Environment), "$3", quote(w.Subject.ExternalID), "$4", quote(w.Action.Key)}, last...)
		plan := strings.Join(storetest.Texts(t, st, "explain "+strings.NewReplacer(values...).Replace(query)), "\n")
		require.Contains(t, plan, "using authorizations_counts on authorizations")
		require.NotContains(t, plan, "Seq Scan on authorizations")
	}
}
