package aggregate_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/aggregate"
)

// An amount is stored as the digits that were sent, or it is refused: whatever is not refused has the form that Postgres adds up.
func TestAmountIsStoredOrRefused(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^[0-9]{1,40}(\.[0-9]{1,20})?$`)
	for _, c := range []struct{ typ, sent, stored string }{ // nothing is stored of what is refused
		{"number", `1000`, "1000"}, {"number", `0.10`, "0.10"}, {"number", `1e3`, "1000"}, {"number", `1.5E+2`, "150"}, {"number", `25e-1`, "2.5"},
		{"number", `12345678901234567890.12`, "12345678901234567890.12"}, {"integer", `9007199254740993`, "9007199254740993"},
		{"number", `1e-400`, "0"}, {"number", `1e-20000`, "0"}, {"number", `1e-1000000`, "0"}, {"number", `0.` + strings.Repeat("1", 3000), "0.1111111111111111"},
		{"number", `0.1000000000000000055511151231257827`, "0.1"}, {"number", `1` + strings.Repeat("0", 39) + `e0`, "1" + strings.Repeat("0", 39)},
		{"number", `1e40`, ""}, {"number", `1e-21`, ""}, {"number", `-1`, ""}, {"number", `-1e-25`, ""},
		{"number", `-0`, "0"}, {"number", `-0.0`, "0"}, {"number", `-0e5`, "0"}, {"number", `-0.00E-3`, "0"}, {"number", `-1e-400`, "0"}, {"integer", `-0`, "0"},
		{"string", `"0.10"`, "0.10"}, {"string", `"007"`, "007"}, {"string", `"` + strings.Repeat("9", 40) + `"`, strings.Repeat("9", 40)},
		{"string", `"1e3"`, ""}, {"string", `"-0"`, ""}, {"string", `"+1"`, ""}, {"string", `" 1"`, ""}, {"string", `"1\n"`, ""}, {"string", `"1."`, ""}, {"string", `".5"`, ""},
		{"string", `"١"`, ""}, {"string", `"1_000"`, ""}, {"string", `"0x10"`, ""}, {"string", `""`, ""}, {"string", `"` + strings.Repeat("9", 41) + `"`, ""},
	} {
		t.Run(c.typ+" "+c.sent[:min(len(c.sent), 40)], func(t *testing.T) {
			t.Parallel()
			plan, err := aggregate.Parse([]byte(`{"type": "object", "properties": {"amount": {"type": "` + c.typ + `", "x-countersign-aggregate": "sum"}}}`))
			require.NoError(t, err)
			raw := []byte(`{"amount": ` + c.sent + `}`)
			decoded := map[string]any{}
			require.NoError(t, json.Unmarshal(raw, &decoded))
			if c.stored == "" {
				require.Len(t, plan.Faults(decoded), 1)
				return
			}
			require.Empty(t, plan.Faults(decoded))
			values, err := plan.Values(raw)
			require.NoError(t, err)
			require.Equal(t, []aggregate.Value{{Field: "amount", Amount: c.stored}}, values)
			require.Regexp(t, form, values[0].Amount)
		})
	}
}
