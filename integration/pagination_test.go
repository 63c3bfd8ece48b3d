package integration_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

var nextPage = regexp.MustCompile(`^<([^>]+)>; rel="next"$`)

// Lists are sorted newest first with fifty items per page by default. Following Link returns each item exactly once.
func TestListPagination(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	const n = 53
	want := make([]string, n)
	for i := range n {
		want[n-1-i] = w.subject(t)
	}
	first := w.Server.get(t, "/api/v1/subjects").is(200)
	require.Len(t, first.list(), 50)
	require.Regexp(t, nextPage, first.header.Get("Link"))
	require.Len(t, w.Server.get(t, "/api/v1/subjects?limit=200").is(200).list(), n)

	var got []string
	for path := "/api/v1/subjects?limit=20&status=active"; path != ""; {
		page := w.Server.get(t, path).is(200)
		for _, s := range page.list() {
			got = append(got, s["id"].(string))
		}
		path = ""
		if m := nextPage.FindStringSubmatch(page.header.Get("Link")); m != nil {
			require.Contains(t, m[1], "status=active", "the link keeps the filter")
			path = m[1]
		}
	}
	require.Equal(t, want, got)
	require.Equal(t, []string{`["query","cursor"] cursor_invalid`}, w.Server.get(t, "/api/v1/subjects?cursor=AAAA").faults())
	require.Equal(t, []string{`["query","limit"] repeated`}, w.Server.get(t, "/api/v1/subjects?limit=1&limit=2").faults())
	for path, fault := range map[string]string{
		"/api/v1/subjects?limit=0": "limit", "/api/v1/subjects?limit=201": "limit", "/api/v1/subjects?limit=x": "limit",
		"/api/v1/activity?since=yesterday": "since", "/api/v1/reviews?due_before=soon": "due_before",
	} {
		require.Contains(t, w.Server.get(t, path).is(422).faults()[0], `["query","`+fault+`"]`, path)
	}
}

func TestListReviewsDefaultsToPendingNewestFirst(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", holding)
	first := w.authorize(t, w.subject(t), action, "hold").string("id")
	second := w.authorize(t, w.subject(t), action, "hold").string("id")
	resolved := w.authorize(t, w.subject(t), action, "hold").string("id")
	w.Server.post(t, "/api/v1/authorizations/"+resolved+"/review", object{"resolution": "reject"}).is(200)
	queue := w.Server.get(t, "/api/v1/reviews").is(200).list()
	require.Len(t, queue, 2)
	require.Equal(t, []any{second, first}, []any{queue[0]["authorization"], queue[1]["authorization"]})
}
