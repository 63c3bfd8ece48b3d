package route_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/gate/internal/request"
	"github.com/countersign-dev/countersign/gate/internal/route"
)

func place(t *testing.T, open bool, path string, methods ...string) route.Place {
	t.Helper()
	template, err := route.ParseTemplate(path)
	require.NoError(t, err)
	return route.Place{Hosts: []string{"app.example"}, Methods: methods, Path: template, Open: open}
}

func TestFind(t *testing.T) {
	t.Parallel()
	table := route.NewTable([]route.Place{
		0: place(t, true, "/{rest...}"),
		1: place(t, false, "/payments/{id}/release", "POST"),
		2: place(t, false, "/payments/all/release", "POST"),
		3: place(t, false, "/reports", "GET"),
		4: place(t, true, "/payments/{id}"),
		5: place(t, false, "/admin/{rest...}"),
		6: place(t, false, "/"),
	})
	for name, c := range map[string]struct {
		method, path string
		index        int
		code         string
	}{
		"parameter":                    {"POST", "/payments/4711/release", 1, ""},
		"literal before parameter":     {"POST", "/payments/all/release", 2, ""},
		"other method":                 {"GET", "/payments/4711/release", 0, ""},
		"head is get":                  {"HEAD", "/reports", 3, ""},
		"open parameter":               {"GET", "/payments/4711", 4, ""},
		"rest":                         {"GET", "/admin/a/b", 5, ""},
		"rest is empty":                {"GET", "/admin/", 5, ""},
		"root":                         {"GET", "/", 6, ""},
		"other case":                   {"POST", "/Payments/4711/release", 0, "ambiguous_path"},
		"other case of a literal":      {"POST", "/payments/ALL/release", 0, "ambiguous_path"},
		"slash at the end":             {"GET", "/reports/", 0, "ambiguous_path"},
		"extension":                    {"GET", "/reports.json", 0, "ambiguous_path"},
		"dot at the end":               {"GET", "/reports.", 0, "ambiguous_path"},
		"full-width letters":           {"GET", "/%EF%BD%92eports", 0, "ambiguous_path"},
		"rest without its slash":       {"GET", "/admin", 5, ""},
		"rest in another case":         {"GET", "/ADMIN/a", 0, "ambiguous_path"},
		"slash at the end of an open":  {"GET", "/payments/4711/", 0, ""},
		"case of a parameter is free":  {"POST", "/payments/A-B/release", 1, ""},
		"extension of a parameter":     {"GET", "/payments/4711.json", 4, ""},
		"method of no guarded meaning": {"DELETE", "/reports", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := request.Parse(request.Raw{Method: c.method, Target: c.path, Host: "app.example:8443", Scheme: "https", Rewritten: true, Removes: true})
			require.NoError(t, err)
			index, _, err := table.Find(r)
			if c.code != "" {
				var refused *route.Refusal
				require.ErrorAs(t, err, &refused)
				require.Equal(t, c.code, refused.Code)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.index, index)
		})
	}
}

func TestFindRefusesOtherHosts(t *testing.T) {
	t.Parallel()
	table := route.NewTable([]route.Place{place(t, true, "/{rest...}")})
	r, err := request.Parse(request.Raw{Method: "GET", Target: "/", Host: "other.example", Rewritten: true, Removes: true})
	require.NoError(t, err)
	_, _, err = table.Find(r)
	require.ErrorContains(t, err, "unknown_host")
}

func TestTemplatesThatNoRequestMatches(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"payments", "/a//b", "/a/../b", "/{id}x", "/{rest...}/a", "/{id}/{id}", "/a%20b", "/a;b", "/{ID}"} {
		_, err := route.ParseTemplate(text)
		require.Error(t, err, text)
	}
}
