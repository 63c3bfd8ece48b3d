package policies

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/models"
)

func TestPoliciesInWords(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","required":["amount","payee","tags"],"properties":{"amount":{"type":"number","x-countersign-aggregate":"sum"},"payee":{"type":"string"},"tags":{"type":"array","maxItems":3,"items":{"type":"string","maxLength":9}}}}`
	for _, c := range []struct {
		name, requirements string
		want               []string
	}{
		{"nothing is required", `{"coverage_min":"none"}`, []string{"Allows every request."}},
		{"evidence", `{"coverage_min":"partial","claims":{"operator_continuity":"likely","evidence_replay":"not_detected"},"deny_on":["replay_exact"]}`, []string{
			"Denies a request for: replay exact.", "Asks for a passkey when the evidence is insufficient, less than partial, or older than 1 min.",
			"Asks for a passkey unless it is likely that the same person acts as before.",
			"Holds a request for review unless the evidence is free of replayed evidence.", "Otherwise allows.",
		}},
		{"rules", `{"coverage_min":"none","rules":[
			{"name":"large","when":"context.amount > 10000","requirements":{"hold_on":["rule_matched"],"review":[{"group":"treasury","approvals":1}]},"reason":"x"},
			{"name":"day","when":"subject.sum(\"amount\", \"pay\", \"allow\", \"24h\") + decimal(context.amount) > 20000","requirements":{"deny_on":["rule_matched"]},"reason":"x","reserve":true},
			{"name":"trust","when":"!(context.payee in list(\"trusted\"))","requirements":{"explicit_approval_required":true,"coverage_min":"partial"},"reason":"x"},
			{"name":"tags","when":"context.tags.exists(t, t == \"new\")","requirements":{"approvals_required":2},"reason":"x"}]}`, []string{
			"Holds a request for one approval of team treasury if amount is over 10,000.",
			"Denies a request if the sum of amount of allowed decisions about the subject in the last 24 hours plus amount is over 20,000. Requests that are decided at the same time count too.",
			"Asks for a passkey and requires coverage min partial if payee is not in the list trusted.",
			`Requires 2 approvals of what is held if this is true: context.tags.exists(t, t == "new")`, "Otherwise allows.",
		}},
		{"every request", `{"coverage_min":"none","explicit_approval_required":true}`, []string{"Asks for a passkey for every request, and allows what is confirmed by it."}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var r policy.Requirements
			require.NoError(t, json.Unmarshal([]byte(c.requirements), &r))
			raw, err := json.Marshal(r.Resolve(policy.Live))
			require.NoError(t, err)
			got, err := ContentsOf(models.PolicyVersion{ContentHash: "x", Requirements: raw, ContextSchema: models.JSON(schema)})
			require.NoError(t, err)
			var said []string
			for _, s := range got.Does {
				said = append(said, strings.TrimSpace(s.Text+" "+strings.Join(s.Code, " ")))
			}
			require.Equal(t, c.want, said)
			require.Equal(t, schemaRow{Name: "amount", Type: "number", Required: true, Uses: []string{"added up"}}, got.Schema[0])
		})
	}
}
