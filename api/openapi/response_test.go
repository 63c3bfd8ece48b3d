package openapi_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestValidateResponse(t *testing.T) {
	t.Parallel()
	c := contract(t)
	receipt := `{"authorization":"azn_1","outcome":"executed","reported_at":"2026-11-21T09:31:00.000Z"}`
	for name, tc := range map[string]struct {
		op     string
		status int
		body   string
		want   string // part of the error; empty for none
	}{
		"fine":                  {"reportOutcome", 200, receipt, ""},
		"unknown operation":     {"reportNothing", 200, receipt, "no operation"},
		"status not named":      {"reportOutcome", 418, receipt, "does not define"},
		"undocumented property": {"reportOutcome", 200, `{"authorization":"azn_1","outcome":"executed","reported_at":"2026-11-21T09:31:00.000Z","x":1}`, "additional properties 'x' not allowed"},
		"missing property":      {"reportOutcome", 200, `{"authorization":"azn_1","outcome":"executed"}`, "missing property 'reported_at'"},
		"time without millis":   {"reportOutcome", 200, `{"authorization":"azn_1","outcome":"executed","reported_at":"2026-11-21T09:31:00Z"}`, "does not match pattern"},
		"not JSON":              {"reportOutcome", 200, `{`, "not JSON"},
		"trailing data":         {"reportOutcome", 200, receipt + `{}`, "not JSON"},
		"a problem":             {"reportOutcome", 404, `{"type":"/docs/errors#not_found","title":"Not found","status":404,"detail":"d","code":"not_found","request_id":""}`, ""},
		"problem without code":  {"reportOutcome", 404, `{"type":"x","title":"Not found","status":404,"detail":"d","request_id":"r"}`, "missing property 'code'"},
		"validation error":      {"reportOutcome", 422, `{"detail":[{"loc":["body","outcome"],"msg":"outcome is required","type":"missing"}]}`, ""},
		"no body":               {"archiveAction", 204, "", ""},
		"unexpected body":       {"archiveAction", 204, "{}", "unexpected body"},
		"metrics as text":       {"getMetrics", 200, "# TYPE x counter\nx 1\n", ""},
		"metrics as JSON":       {"getMetrics", 200, `{"x":1}`, ""},
		"either receipt":        {"reviewAuthorization", 200, `{"authorization":"azn_1","resolution":"reject","outcome":` + receipt + `}`, ""},
		"neither receipt":       {"reviewAuthorization", 200, `{"authorization":"azn_1","resolution":"reject"}`, "anyOf"},
		"list":                  {"listSubjects", 200, `[]`, ""},
		"no list":               {"listSubjects", 200, `null`, "want array"},
		"nested undocumented":   {"getMeta", 200, `{"service":"s","version":"1","contract_version":"1","capabilities":{},"reason_codes":[{"code":"a","kind":"b","description":"c","remedy":"d","more":1}],"claims":[],"modalities":[],"feature_schema":{},"limits":{},"legacy_states":[]}`, "additional properties 'more'"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := c.ValidateResponse(tc.op, tc.status, []byte(tc.body))
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.want)
		})
	}
}
