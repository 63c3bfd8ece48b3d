package openapi_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/api/openapi"
)

func TestParams(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 129)
	for name, tc := range map[string]struct {
		op    string
		path  map[string]string
		query map[string][]string
		want  []openapi.Violation
	}{
		"nothing given":       {op: "listActions"},
		"unknown":             {op: "getCredential", query: map[string][]string{"utm": {"x"}}, want: one("query", "utm", "utm is not a query parameter: this operation has no query parameters", "extra_forbidden")},
		"unknown, earlier":    {op: "getMetrics", query: map[string][]string{"utm": {"x"}}},
		"least limit":         {op: "listActions", query: map[string][]string{"limit": {"1"}}},
		"greatest limit":      {op: "listActions", query: map[string][]string{"limit": {"200"}}},
		"no limit":            {op: "listActions", query: map[string][]string{"limit": {"0"}}, want: one("query", "limit", "limit must be at least 1", "greater_than_equal")},
		"limit over":          {op: "listActions", query: map[string][]string{"limit": {"201"}}, want: one("query", "limit", "limit must be at most 200", "less_than_equal")},
		"limit in words":      {op: "listActions", query: map[string][]string{"limit": {"ten"}}, want: one("query", "limit", "limit must be an integer", "int_parsing")},
		"limit with fraction": {op: "listActions", query: map[string][]string{"limit": {"1.0"}}, want: one("query", "limit", "limit must be an integer", "int_parsing")},
		"limit empty":         {op: "listActions", query: map[string][]string{"limit": {""}}, want: one("query", "limit", "limit must be an integer", "int_parsing")},
		"limit enormous":      {op: "listActions", query: map[string][]string{"limit": {"99999999999999999999"}}, want: one("query", "limit", "limit must be an integer", "int_parsing")},
		"twice":               {op: "listActions", query: map[string][]string{"limit": {"1", "2"}}, want: one("query", "limit", "limit must be given once", "repeated")},
		"bad cursor":          {op: "listActions", query: map[string][]string{"cursor": {"a b"}}, want: one("query", "cursor", "cursor must match ^[A-Za-z0-9_=-]+$", "string_pattern_mismatch")},
		"known value":         {op: "listReviews", query: map[string][]string{"status": {"expired"}}},
		"unknown value":       {op: "listReviews", query: map[string][]string{"status": {"done"}}, want: one("query", "status", "status must be one of pending, approved, rejected, expired, withdrawn", "enum")},
		"a family of events":  {op: "listActivity", query: map[string][]string{"type": {"hold.*"}}},
		"a time":              {op: "listActivity", query: map[string][]string{"since": {"2026-11-21T00:00:00Z"}}},
		"no time":             {op: "listActivity", query: map[string][]string{"since": {"today"}}, want: one("query", "since", "since must be a time as RFC 3339 has it, e.g. 2026-11-21T09:30:00.000Z", "datetime_parsing")},
		"an id":               {op: "getAction", path: map[string]string{"action_id": "whatever-it-is"}},
		"no id":               {op: "getAction", path: map[string]string{"action_id": "a b"}, want: one("path", "action_id", "action_id must match ^[A-Za-z0-9._:@-]+$", "string_pattern_mismatch")},
		"NUL":                 {op: "getAction", path: map[string]string{"action_id": "a\x00"}, want: one("path", "action_id", "action_id must match ^[A-Za-z0-9._:@-]+$", "string_pattern_mismatch")},
		"NUL in a query":      {op: "listReviews", query: map[string][]string{"action": {"a\x00"}}, want: one("query", "action", "action must not hold NUL", "nul_character")},
		"no text in a query":  {op: "listReviews", query: map[string][]string{"action": {"a\xff"}}, want: one("query", "action", "action must be UTF-8", "string_unicode")},
		"long id":             {op: "getAction", path: map[string]string{"action_id": long}, want: one("path", "action_id", "action_id must have at most 128 characters", "string_too_long")},
		"a version":           {op: "getPolicyVersion", path: map[string]string{"action_id": "a", "version": "1"}},
		"version zero":        {op: "getPolicyVersion", path: map[string]string{"action_id": "a", "version": "0"}, want: one("path", "version", "version must be at least 1", "greater_than_equal")},
		"version in words":    {op: "getPolicyVersion", path: map[string]string{"action_id": "a", "version": "latest"}, want: one("path", "version", "version must be an integer", "int_parsing")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.want, contract(t).ValidateParams(tc.op, tc.path, tc.query))
		})
	}
}

func one(in, name, msg, typ string) []openapi.Violation {
	return []openapi.Violation{{Loc: []any{in, name}, Msg: msg, Type: typ}}
}
