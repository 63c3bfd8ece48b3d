package integration_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReviewersTakeAndReleaseHolds(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	ann, bob := w.reviewer(t), w.reviewer(t)
	_, action := w.action(t, "enforce", holding)
	held := w.authorize(t, w.subject(t), action, "hold").string("id")
	path := "/api/v1/authorizations/" + held + "/assignment"
	own := actors(t, ann)[0]
	taken := ann.post(t, path, nil).is(200)
	require.Equal(t, own, taken.value("assigned_to"))
	require.NotNil(t, taken.value("assigned_at"))
	require.Equal(t, own, bob.get(t, "/api/v1/reviews").is(200).list()[0]["assigned_to"])
	bob.post(t, path, object{"previous": nil}).problem(409, "conflict")
	bob.delete(t, path).problem(409, "conflict")
	require.Equal(t, actors(t, bob)[0], bob.post(t, path, object{"previous": own}).is(200).value("assigned_to"))
	mine := func(c caller) int { return len(c.get(t, "/api/v1/reviews?assigned_to=me").is(200).list()) }
	require.Equal(t, []int{0, 1}, []int{mine(ann), mine(bob)})
	require.Len(t, ann.get(t, "/api/v1/reviews?assigned_to="+url.QueryEscape(actors(t, bob)[0].(string))).is(200).list(), 1)
	require.Empty(t, ann.get(t, "/api/v1/reviews?assigned_to=Bob").is(200).list())
	require.Nil(t, bob.delete(t, path).is(200).value("assigned_to"))
	require.Nil(t, bob.delete(t, path).is(200).value("assigned_at"), "a repetition changes nothing")

	ann.post(t, "/api/v1/authorizations/"+held+"/review", object{"resolution": "reject"}).is(200)
	bob.post(t, path, nil).problem(409, "review_resolved")
	plain, other := w.action(t, "enforce", object{"coverage_min": "none"})
	require.NotEmpty(t, plain)
	allowed := w.authorize(t, w.subject(t), other, "allow").string("id")
	bob.post(t, "/api/v1/authorizations/"+allowed+"/assignment", nil).problem(409, "not_held")
	bob.post(t, "/api/v1/authorizations/azn_unknown/assignment", nil).is(404)
}

func TestReviewQueueIsSearchedAndOrderedByAmount(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", holding)
	var held []string
	for range 3 {
		held = append(held, w.authorize(t, w.subject(t), action, "hold").string("id"))
	}
	search := func(q string) []any {
		var out []any
		for _, row := range w.Server.get(t, "/api/v1/reviews?"+q).is(200).list() {
			out = append(out, row["authorization"])
		}
		return out
	}
	require.Equal(t, []any{held[1]}, search("q="+held[1]))
	require.Len(t, search("q="+url.QueryEscape(strings.ToUpper(action))), 3)
	require.Empty(t, search("q=unknown"))
	require.Len(t, search("order=amount"), 3)
	first := w.Server.get(t, "/api/v1/reviews?order=amount&limit=2").is(200)
	require.Len(t, first.list(), 2)
	link := first.header.Get("Link")
	next, _, found := strings.Cut(strings.TrimPrefix(link, "<"), ">")
	require.True(t, found, "Link: %s", link)
	rest := w.Server.get(t, next).is(200)
	require.Len(t, rest.list(), 1)
	require.Empty(t, rest.header.Get("Link"))
	w.Server.get(t, "/api/v1/reviews?q=a&cursor=MC5hem4").is(422)
	w.Server.get(t, "/api/v1/reviews?q=").is(422)
}
