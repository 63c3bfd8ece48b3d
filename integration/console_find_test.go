package integration_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

var hitURLs = regexp.MustCompile(`(?s)<li data-row><a href="([^"]+)"`)

// hits returns the URLs of the results of a search, without the opening of a complete id.
func (v *visitor) hits(w world, text string) (urls []string) {
	v.t.Helper()
	page := v.get("/console/" + w.ID + "/search?typed=1&q=" + text)
	require.Equal(v.t, 200, page.status, page.body)
	for _, m := range hitURLs.FindAllStringSubmatch(page.body, -1) {
		urls = append(urls, strings.ReplaceAll(m[1], "&amp;", "&"))
	}
	return urls
}

// Everything with an id is found by it and by its beginning, subjects by their ids, actions and people by name.
func TestConsoleFindsEverything(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	x := w.consoleRecords(t)
	at := func(parts ...string) string { return "/console/" + w.ID + "/" + strings.Join(parts, "/") }
	_, challenged := w.action(t, "enforce", challenging)
	asked := w.authorize(t, x.subject, challenged, "challenge")
	challenge := asked.string("challenge.id")
	version := w.Server.get(t, "/api/v1/actions/"+x.action+"/policy-versions").is(200).list()[0]
	session := w.Server.post(t, "/api/v1/sessions", object{"subject": x.subject}).is(201).string("id")
	v := w.signedIn(t, models.RoleReviewer, models.RoleOperator, models.RoleAuditor)
	for name, c := range map[string]struct{ text, want string }{
		"a decision":      {x.held, at("decisions", x.held)},
		"a challenge":     {challenge, at("decisions", asked.string("id"))},
		"a session":       {session, at("subjects", x.subject)},
		"an action":       {x.action, at("policies", x.action)},
		"a policy":        {version["id"].(string), at("policies", x.action, "2")},
		"an endpoint":     {x.endpoint, at("webhooks", x.endpoint)},
		"an evaluation":   {x.evaluation, at("evaluations", x.evaluation)},
		"a key":           {x.key, at("keys")},
		"a person":        {x.person, at("people", x.person)},
		"a subject":       {x.subject, at("subjects", x.subject)},
		"a person's name": {"invited+mem", at("people", x.person)},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, []string{c.want}, v.hits(w, c.text))
			if name == "a subject" || name == "a person's name" {
				require.Contains(t, v.hits(w, c.text[:len(c.text)-1]), c.want, "by its beginning")
				return
			}
			require.Contains(t, v.hits(w, c.text[:len("azn_")+10]), c.want, "by its beginning")
			require.Contains(t, v.hits(w, strings.ToUpper(c.text)), c.want)
			opened := v.get(at("search") + "?q=" + c.text)
			require.Equal(t, 303, opened.status)
			require.Equal(t, c.want, opened.location)
		})
	}
	t.Run("an action's name", func(t *testing.T) { require.Contains(t, v.hits(w, "a+PAYMENT"), at("policies", x.action)) })
	t.Run("too little of an id", func(t *testing.T) {
		require.Contains(t, v.get(at("search")+"?q=azn_01k").body, "Enter at least 10 characters")
	})
	t.Run("nothing", func(t *testing.T) {
		for _, text := range []string{"nothing+of+the+kind", "%25%25", "__", "azn_00000000000000000000000000"} {
			require.Contains(t, v.get(at("search")+"?q="+text).body, "Nothing matches.", text)
		}
		require.NotContains(t, v.get(at("search")).body, "Nothing matches.")
	})
	t.Run("an entry of the audit log", func(t *testing.T) {
		require.Eventually(t, func() bool { return len(v.hits(w, "%233")) > 0 }, patience, 50*time.Millisecond, "the log is sealed")
		page := v.get(v.hits(w, "3")[0]).body
		require.Equal(t, "3", regexp.MustCompile(`<td class="number">(\d+)</td>`).FindStringSubmatch(page)[1], "the list begins with the entry")
		entries := v.get(at("export", "audit") + "?format=jsonl&type=action.created").lines(t)
		event, number := entries[0]["event"].(string), strconv.Itoa(int(entries[0]["number"].(float64)))
		require.Contains(t, v.get(at("search")+"?typed=1&q="+event).body, "Entry "+number)
	})
}

// A search finds what the user's roles let them read, in the environment of the page.
func TestConsoleFindsWithinRolesAndEnvironment(t *testing.T) {
	t.Parallel()
	own := newTenant(t)
	w, x := own.Sandbox, own.Sandbox.consoleRecords(t)
	texts := map[string]models.Permission{
		x.held: models.PermissionDecisionsRead, x.subject: models.PermissionDecisionsRead, x.action: models.PermissionConfigRead,
		x.endpoint: models.PermissionConfigRead, x.evaluation: models.PermissionConfigRead, x.key: models.PermissionConfigRead, x.person: models.PermissionConfigRead,
	}
	for _, role := range []models.Role{models.RoleReviewer, models.RoleOperator, models.RoleAuditor} {
		v := w.signedIn(t, role)
		for text, needed := range texts {
			if role.Permissions().Has(needed) {
				require.Len(t, v.hits(w, text), 1, "%s as %s", text, role)
			} else {
				require.Empty(t, v.hits(w, text), "%s as %s", text, role)
			}
		}
	}
	everything := []models.Role{models.RoleReviewer, models.RoleOperator, models.RoleAuditor}
	abroad := newSandbox(t)
	neighbour, foreigner := own.Live.signedIn(t, everything...), abroad.signedIn(t, everything...)
	for text := range texts {
		require.Empty(t, neighbour.hits(own.Live, text), "from the other environment of the tenant")
		require.Empty(t, foreigner.hits(abroad, text), "from another tenant")
	}
}
