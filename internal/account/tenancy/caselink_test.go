package tenancy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
)

func TestCaseLinkIsAnHTTPSTemplate(t *testing.T) {
	t.Parallel()
	svc, _ := service(t)
	made, err := svc.Create(t.Context(), tenancy.Spec{Name: "Example Bank", RPID: "bank.example", Origins: []string{"https://bank.example"}}, "cli:test")
	require.NoError(t, err)
	for name, c := range map[string]struct{ link, refused string }{
		"path and query":          {"https://cases.example/{action}/find?q={decision_id}&s={subject}", ""},
		"none":                    {"", ""},
		"not https":               {"http://cases.example/{decision_id}", "must be an https URL"},
		"a script":                {"javascript:alert(1)", "must be an https URL"},
		"no host":                 {"https:///{decision_id}", "must be an https URL"},
		"a user name":             {"https://a:b@cases.example/", "must be an https URL"},
		"unknown placeholder":     {"https://cases.example/{amount}", "unknown placeholder {amount}"},
		"host of a request":       {"https://{subject}.example/", "not in the host"},
		"a host that looks alike": {"https://c\u0430ses.example/{decision_id}", "ASCII"},
		"what is not seen":        {"https://cases.example/\u202e{decision_id}", "ASCII"},
		"open brace":              {"https://cases.example/{decision_id", "brace"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := svc.UpdateSettings(t.Context(), storetest.Scope(made.Sandbox), tenancy.Settings{"case_link": c.link}, "cli:test", "")
			if c.refused == "" {
				require.NoError(t, err)
				return
			}
			p := problem.As(err)
			require.NotNil(t, p, "%v", err)
			require.Equal(t, []any{"body", "case_link"}, p.Fields[0].Loc)
			require.Contains(t, p.Fields[0].Msg, c.refused)
		})
	}
	require.Equal(t, "https://cases.example/?q=azn_1&s=a%40b.example%26x", tenancy.CaseLink("https://cases.example/?q={decision_id}&s={subject}",
		map[string]string{"decision_id": "azn_1", "subject": "a@b.example&x"}))
}
