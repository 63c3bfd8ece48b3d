package integration_test

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/models"
)

var savedForms = regexp.MustCompile(`action="(/console/[^"]+/filters/flt_[0-9a-z]+)"`)

// saves submits the form that saves a filter.
func (v *visitor) saves(w world, list, name, query string) visit {
	v.t.Helper()
	return v.submit("/console/"+w.ID+"/filters", url.Values{"list": {list}, "name": {name}, "query": {query}})
}

// savedFilter saves a filter for the visitor, whatever their roles, and returns its id.
func (v *visitor) savedFilter(w world) string {
	v.t.Helper()
	require.NoError(v.t, shared.People.SaveFilter(v.t.Context(), w.scope(), staff.By{Person: v.person}, "reviews", "Mine", "risk=high"))
	saved, err := shared.People.Filters(v.t.Context(), w.scope(), v.person, "reviews")
	require.NoError(v.t, err)
	return saved[0].ID
}

// A filter belongs to the person who saved it, in one environment, and goes with them.
func TestConsoleSavesFiltersOfAPerson(t *testing.T) {
	t.Parallel()
	own := newTenant(t)
	w := own.Sandbox
	ann, bob, eve := w.signedIn(t, models.RoleReviewer), w.signedIn(t, models.RoleReviewer), own.Live.signedIn(t, models.RoleReviewer)
	reviews, decisions := "/console/"+w.ID+"/reviews", "/console/"+w.ID+"/decisions"
	require.Contains(t, ann.get(reviews+"?risk=high&q=user-4711").body, `name="query" value="risk=high"`, "without the text of the search")
	require.NotContains(t, ann.get(reviews).body, "Save this filter")
	done := ann.saves(w, "reviews", " High <risk> ", "sort=opened&risk=high")
	require.Equal(t, 303, done.status, done.body)
	require.Equal(t, reviews+"?risk=high&sort=opened", done.location)
	require.Contains(t, ann.get(done.location).body, `aria-current="true"><bdi>High &lt;risk&gt;</bdi>`)
	require.Contains(t, ann.get(reviews).body, "High &lt;risk&gt;")
	require.NotContains(t, ann.get(decisions).body, "High &lt;risk&gt;")
	require.NotContains(t, bob.get(reviews).body, "High &lt;risk&gt;")
	require.Equal(t, 409, ann.saves(w, "reviews", "High <risk>", "").status, "the name is taken")
	require.Equal(t, 303, ann.saves(w, "decisions", "High <risk>", "decision=deny").status, "in another list it is not")

	form := savedForms.FindStringSubmatch(ann.get(reviews).body)[1]
	require.Equal(t, 404, bob.submit(form, url.Values{"name": {"Mine"}}).status)
	require.Equal(t, 404, bob.submit(form+"/delete", nil).status)
	require.Equal(t, 404, eve.submit(strings.Replace(form, w.ID, own.Live.ID, 1)+"/delete", nil).status)
	require.Equal(t, 303, ann.submit(form, url.Values{"name": {"Urgent"}}).status)
	require.Contains(t, ann.get(reviews).body, "<bdi>Urgent</bdi></a>")
	require.Equal(t, 303, ann.submit(form+"/delete", nil).status)
	require.NotContains(t, ann.get(reviews).body, "<bdi>Urgent</bdi></a>")
	require.Equal(t, 404, ann.submit(form+"/delete", nil).status)

	require.NoError(t, shared.People.Revoke(t.Context(), w.scope().Tenant, ann.person, "cli:test"))
	require.Zero(t, count(t, "select count(*) from saved_filters where person_id = $1", ann.person), "they go with the person")
}

func TestConsoleRefusesFiltersItDoesNotKnow(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	ann := w.signedIn(t, models.RoleReviewer)
	for name, c := range map[string]struct{ list, name, query string }{
		"no name":              {"reviews", " ", "risk=high"},
		"a long name":          {"reviews", strings.Repeat("n", 61), "risk=high"},
		"a name with a line":   {"reviews", "a\nb", "risk=high"},
		"an unknown list":      {"audit", "n", ""},
		"the text of a search": {"reviews", "n", "q=user-4711"},
		"an unknown field":     {"decisions", "n", "risk=high"},
		"an unknown value":     {"reviews", "n", "risk=huge"},
		"two values":           {"reviews", "n", "risk=high&risk=low"},
		"no key of an action":  {"decisions", "n", "action=%3Cscript%3E"},
		"a broken query":       {"reviews", "n", "risk=%zz"},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, 400, ann.saves(w, c.list, c.name, c.query).status) })
	}
	for i := range staff.MaxFilters {
		require.Equal(t, 303, ann.saves(w, "reviews", fmt.Sprint("n", i), "risk=high").status)
	}
	full := ann.saves(w, "decisions", "one too many", "decision=deny")
	require.Equal(t, 409, full.status)
	require.Contains(t, full.body, "Delete one first.")
	require.Equal(t, 403, w.signedIn(t, models.RoleOperator).saves(w, "reviews", "n", "risk=high").status)
}
