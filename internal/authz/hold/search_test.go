package hold_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/hold"
)

func TestSearchMatchesSubjectAndAction(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.Hold(life, 1)
	b.Exec("update actions set name = 'Release a payment'")
	for name, c := range map[string]struct {
		text  string
		found bool
	}{
		"everything":                 {"", true},
		"beginning of the subject":   {"USER-4", true},
		"middle of the subject":      {"4711", false},
		"part of the action's name":  {"A PAYMENT", true},
		"the action's key":           {b.Action.Key, true},
		"the authorization":          {h.AuthorizationID, true},
		"no pattern language":        {"%", false},
		"something that is not here": {"unknown", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, complete, err := b.service.Search(t.Context(), b.Principal("crd_ann"), hold.Filter{}, hold.Search{Text: c.text})
			require.NoError(t, err)
			require.True(t, complete)
			require.Equal(t, c.found, len(got) == 1)
		})
	}
}

func TestPlaceCountsTheHoldsBefore(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var ids []string
	for range 3 {
		ids = append(ids, b.Hold(life, 1).AuthorizationID)
	}
	b.Exec("update holds set due_at = due_at - interval '1 hour', opened_at = opened_at + interval '1 minute' where authorization_id = $1", ids[2])
	b.Exec("update holds set risk_class = 'low' where authorization_id = $1", ids[0])
	for name, c := range map[string]struct {
		filter        hold.Filter
		id            string
		before, total int64
	}{
		"soonest due first": {hold.Filter{MostUrgent: true}, ids[2], 0, 3},
		"newest first":      {hold.Filter{}, ids[0], 2, 3},
		"not in the filter": {hold.Filter{RiskClass: "low"}, ids[1], -1, 1},
		"unknown":           {hold.Filter{}, "azn_unknown", -1, 3},
		"none":              {hold.Filter{Action: "other"}, ids[0], -1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, total, err := b.service.Position(t.Context(), b.Scope, c.filter, c.id)
			require.NoError(t, err)
			require.Equal(t, []int64{c.before, c.total}, []int64{before, total})
		})
	}
}
