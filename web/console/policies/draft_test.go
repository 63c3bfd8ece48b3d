package policies

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/web/console/forms"
	"github.com/countersign-dev/countersign/web/console/shell"
)

// A requirement without a field would be missing in the version that the form makes of another.
func TestTheFormHasEveryRequirement(t *testing.T) {
	t.Parallel()
	var r policy.Requirements
	require.NoError(t, json.Unmarshal([]byte(`{"review": {"steps": [{"name": "team", "entries": [{"group": "payments", "approvals": 1}]}]}, "repeat_approvers": true,
		"break_glass": {"group": "incident", "after_review": {"approvals": 2, "within_seconds": 3600}},
		"standing": {"max_uses": 40, "within_seconds": 86400}}`), &r))
	fields := map[string]string{"requirements.rules": ""} // composed by the builder
	for _, group := range [][]forms.Field{claimFields(r), evidenceFields(&shell.Visit{Grant: staff.Grant{}}, r), holdFields(r)} {
		for _, f := range group {
			fields[f.Name] = f.Value
		}
	}
	for f := range reflect.TypeFor[policy.Requirements]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "claims" {
			name = "claims." + policy.OperatorContinuity
		}
		require.Contains(t, fields, "requirements."+name)
	}
	stored, err := json.Marshal(r)
	require.NoError(t, err)
	var want map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(stored, &want))
	for _, name := range []string{"review", "break_glass", "standing"} {
		require.JSONEq(t, string(want[name]), fields["requirements."+name], name)
	}
	require.Equal(t, "true", fields["requirements.repeat_approvers"])
}
