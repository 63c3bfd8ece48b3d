package audit

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAuditFieldsSayWhatChanged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		data, before string
		want         []auditField
	}{
		"a value and what it was": {
			data: `{"environment": "env_1", "mode": "enforce", "mode_before": "shadow", "action": "pay"}`,
			want: []auditField{{"Mode", "shadow", "enforce", true}, {"Action", "", "pay", false}},
		},
		"digests": {
			data: `{"before": "sha256:a", "after": "sha256:b", "change": "chg_1"}`,
			want: []auditField{{"Digest of the content", "sha256:a", "sha256:b", true}, {"Change", "", "chg_1", false}},
		},
		"a record that is new": {
			data: `{"after": "sha256:b"}`,
			want: []auditField{{"Digest of the content", "", "sha256:b", false}},
		},
		"the state before": {
			data:   `{"hold_ttl_seconds": 600, "review_notes": true, "origins": ["https://a.example"]}`,
			before: `{"hold_ttl_seconds": 3600, "review_notes": true, "origins": null, "brand_name": "Acme"}`,
			want: []auditField{
				{"Brand name", "Acme", nothing, true}, {"Time limit of a review", "1 h", "10 min", true},
				{fieldLabel("origins"), nothing, "https://a.example", true}, {fieldLabel("review_notes"), "", "yes", false},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			decoded := func(text string) (out map[string]any) {
				if text != "" {
					require.NoError(t, json.Unmarshal([]byte(text), &out))
				}
				return out
			}
			require.Equal(t, c.want, auditFields(decoded(c.data), decoded(c.before)))
		})
	}
}
