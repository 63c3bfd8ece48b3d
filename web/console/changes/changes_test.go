package changes

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web/console/policies"
)

func TestFieldLines(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string][]string{
		`null`: nil, `""`: {`""`}, `"likely"`: {"likely"}, `300`: {"300"}, `false`: {"false"}, `["a>1","b"]`: {"a>1", "b"}, `{"a":"<"}`: {"{", `  "a": "<"`, "}"},
	} {
		require.Equal(t, want, policies.FieldLines(json.RawMessage(raw)), raw)
	}
}

func TestNoticeOfAChangeStatesOnlyItsStatus(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, done string
		status     models.ChangeStatus
		own        bool
		want       string
	}{
		{"requested by the user", "requested", models.ChangePending, true, "It waits for a second approver"},
		{"requested by a different operator before", "requested", models.ChangePending, false, "is not an approval"},
		{"requested and settled since", "requested", models.ChangeApproved, true, ""},
		{"approved", "approved", models.ChangeApproved, false, "taken effect"},
		{"not approved yet", "approved", models.ChangePending, false, ""},
		{"rejected", "rejected", models.ChangeRejected, false, "Nothing was changed"},
		{"withdrawn", "withdrawn", models.ChangeWithdrawn, true, "Nothing was changed"},
		{"expired", "expired", models.ChangeExpired, true, ""},
		{"no form", "", models.ChangePending, true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := becameOf(c.done, &change.View{Status: c.status, Own: c.own})
			if c.want == "" {
				require.Nil(t, got)
				return
			}
			require.Contains(t, got.Text, c.want)
		})
	}
}
