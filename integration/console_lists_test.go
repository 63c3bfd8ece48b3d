package integration_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

// entryForm is the form of a new entry of a list.
func entryForm(value, reason, expires string) url.Values {
	return url.Values{"add.value": {value}, "add.reason": {reason}, "add.expires_at": {expires}}
}

func TestConsoleManagesLists(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	v, auditor := w.signedIn(t, models.RoleOperator), w.signedIn(t, models.RoleAuditor)
	at := "/console/" + w.ID + "/lists"
	require.Contains(t, v.get(at).body, "No lists yet.")
	wrong := v.submit(at+"/new", url.Values{"name": {"Blocked"}, "kind": {"country"}, "personal": {"true"}})
	require.Equal(t, http.StatusUnprocessableEntity, wrong.status)
	require.NotEmpty(t, fault(t, wrong, "name"))
	wrong = v.submit(at+"/new", url.Values{"name": {"blocked"}, "kind": {"country"}, "personal": {"true"}, "description": {"a\u202eb"}})
	require.Contains(t, fault(t, wrong, "personal"), "a personal list compares whole values")
	made := v.submit(at+"/new", url.Values{"name": {"blocked"}, "kind": {"country"}, "description": {"Sanctions."}})
	require.Regexp(t, `/lists/lst_[^/]+\?done=created$`, made.location, made.body)
	page, _, _ := strings.Cut(made.location, "?")
	require.Equal(t, http.StatusConflict, v.submit(at+"/new", url.Values{"name": {"blocked"}, "kind": {"text"}}).status)

	require.Contains(t, fault(t, v.submit(page+"/add", entryForm("Germany", "Known.", "")), "add-value"), "a country of two letters")
	require.Contains(t, fault(t, v.submit(page+"/add", entryForm("DE", "", "")), "add-reason"), "Reason must have 1 to 256 characters")
	require.Contains(t, fault(t, v.submit(page+"/add", entryForm("DE", "Known.", "2001-01-01T00:00")), "add-expires_at"), "in the future")
	require.Contains(t, fault(t, v.submit(page+"/add", entryForm("DE", "Known.", "soon")), "add-expires_at"), "must be a date and a time")
	for _, country := range []string{"KP", "ir"} {
		require.Equal(t, page+"?done=added", v.submit(page+"/add", entryForm(country, "Sanctions.", "2099-01-01T00:00")).location)
	}
	shown := v.get(page + "?done=added").body
	for _, text := range []string{"The value is in the list.", "2 entries", "version 3", "2099-01-01 00:00:00 UTC", "Sanctions.", "Staff Member", "permission <code>policy.activate</code>"} {
		require.Contains(t, shown, text)
	}
	found := v.get(page + "?value=K").body
	require.Contains(t, found, ">KP<")
	require.NotContains(t, found, ">ir<")
	require.Contains(t, v.get(page+"?value=FR").body, "No entry has this value.")
	seen := auditor.get(page).body
	require.Contains(t, seen, ">KP<")
	require.NotContains(t, seen, "/add")
	require.NotContains(t, seen, "/remove")

	lines := v.get("/console/" + w.ID + "/export/lists/" + page[strings.LastIndex(page, "/")+1:] + "?format=jsonl").lines(t)
	require.Equal(t, []any{"ir", "KP"}, column(lines, "value"))
	require.Equal(t, []any{"blocked"}, column(v.get("/console/"+w.ID+"/export/lists?format=jsonl").lines(t), "name"))

	remove := regexp.MustCompile(regexp.QuoteMeta(page) + `/entries/lse_[^/]+/remove`).FindString(shown)
	require.Equal(t, http.StatusBadRequest, v.submit(remove, nil).status)
	require.Equal(t, page+"?done=removed", v.submit(remove, sure()).location)
	require.NotContains(t, v.get(page).body, ">ir<", "the newest is the first")

	_, action := w.ruled(t, "transfer.blocked", rule("blocked", `resource.id in list("blocked")`, holdMatched))
	refused := v.submit(page+"/delete", sure())
	require.Equal(t, http.StatusConflict, refused.status)
	require.Contains(t, refused.body, "is read by the policy in force of "+action)
	require.Contains(t, v.get(at).body, ">blocked<")
	other := v.submit(at+"/new", url.Values{"name": {"other"}, "kind": {"text"}}).location
	require.Equal(t, at+"?done=deleted", v.submit(strings.TrimSuffix(other, "?done=created")+"/delete", sure()).location)
	for _, kind := range []string{"list.created", "list.changed", "list.deleted"} {
		w.recorded(t, v, kind)
	}
}

func TestConsoleAddsValuesOfADecisionToLists(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	action := w.showing(t, holding)
	subject := w.subject(t)
	id := w.Server.post(t, "/api/v1/authorize", payment(subject, action)).is(200).string("id")
	v, reviewer := w.signedIn(t, models.RoleOperator, models.RoleReviewer), w.signedIn(t, models.RoleReviewer)
	form := "/console/" + w.ID + "/lists/add?decision=" + id + "&detail="
	require.Contains(t, v.get(form+"subject").body, "The environment has no list yet.")
	payees := w.listOf(t, object{"name": "payees", "kind": "text", "personal": true})
	list := strings.TrimPrefix(payees, "/api/v1/lists/")

	for _, page := range []string{"decisions", "reviews"} {
		at := "/console/" + w.ID + "/" + page + "/" + id
		links := regexp.MustCompile(`href="([^"]+/lists/add\?[^"]+)"`).FindAllStringSubmatch(v.get(at).body, -1)
		require.NotEmpty(t, links, page)
		require.NotContains(t, reviewer.get(at).body, "/lists/add", "a reviewer changes no list")
	}
	require.Equal(t, http.StatusForbidden, reviewer.get(form+"subject").status)
	for detail, want := range []string{"", "DE89 3704 0044 0532 0130 00", "Müller & Söhne"} {
		page := v.get(form + strconv.Itoa(detail)).body
		require.Contains(t, page, "payees (personal)")
		require.Contains(t, page, `value="Decision `+id+`"`)
		value := regexp.MustCompile(`name="add.value" value="([^"]*)"`).FindStringSubmatch(page)
		require.Equal(t, want, html.UnescapeString(value[1]))
	}
	require.Contains(t, html.UnescapeString(v.get(form+"0").body), `shows Amount as "1,250.50 EUR", which is not the value of the request`)
	require.Contains(t, v.get(form+"99").body, "does not show the value any more")
	require.Contains(t, v.get(form+"subject").body, `value="`+subject+`"`)

	require.Contains(t, fault(t, v.submit(form+"subject", including(entryForm("", "Seen.", ""), "list", list)), "add-value"), "Value must have 1")
	done := v.submit(form+"subject", including(entryForm(subject, "Seen.", ""), "list", list))
	require.Equal(t, "/console/"+w.ID+"/lists/"+list+"?done=added", done.location, done.body)
	page := v.get(done.location).body
	require.Contains(t, page, "personal, stored as a digest")
	require.NotContains(t, page, subject)
	require.Contains(t, v.get("/console/"+w.ID+"/lists/"+list+"?value="+subject).body, "personal, stored as a digest")
	require.Contains(t, v.get("/console/"+w.ID+"/lists/"+list+"?value="+subject[1:]).body, "No entry has this value.", "whole values only")
}

// including returns a form with one more field.
func including(form url.Values, name, value string) url.Values {
	form.Set(name, value)
	return form
}

func TestConsoleShowsChangesOfListsThatWait(t *testing.T) {
	t.Parallel()
	w, other := fourEyes(t)
	v := w.signedIn(t, models.RoleOperator)
	list := strings.TrimPrefix(w.listOf(t, object{"name": "blocked", "kind": "text"}), "/api/v1/lists/")
	page := "/console/" + w.ID + "/lists/" + list
	require.Contains(t, v.get(page+"/add").body, "The change waits until a different person or key approves it.")
	asked := v.submit(page+"/add", entryForm("acct_1", "Reported.", ""))
	require.Regexp(t, `/changes/chg_[^/]+\?done=requested$`, asked.location, asked.body)
	require.Contains(t, v.get(asked.location).body, `href="`+page+`">Open the list`)
	require.Contains(t, v.get(page).body, "Change entries of the list blocked")
	gone := v.submit(page+"/delete", sure())
	require.Regexp(t, `/changes/chg_[^/]+\?done=requested$`, gone.location, gone.body)
	require.Contains(t, v.get(page).body, "Delete the list blocked")
	id := regexp.MustCompile(`chg_[0-9a-z]+`).FindString(asked.location)
	other.post(t, changePath(id, "approve"), nil).is(200)
	shown := v.get(page).body
	require.Contains(t, shown, "acct_1")
	require.NotContains(t, shown, "Change entries of the list blocked")
}

// An erasure leaves the id of the subject in no change request about a list, and what is left of one that waits can be approved.
func TestErasureForgetsTheSubjectInChangesOfLists(t *testing.T) {
	t.Parallel()
	w, other := fourEyes(t)
	subject := w.subject(t)
	var lists, settled, pending []string
	for _, draft := range []object{{"name": "payees", "kind": "text"}, {"name": "personal", "kind": "text", "personal": true}} {
		list := w.listOf(t, draft)
		first := w.Server.post(t, list+"/entries", adding(subject, "acct_1")).is(http.StatusAccepted).string("id")
		other.post(t, changePath(first, "approve"), nil).is(200)
		second := w.Server.post(t, list+"/entries", with(adding("acct_2"), object{"remove": []object{{"value": subject}}})).is(http.StatusAccepted).string("id")
		lists, settled, pending = append(lists, list), append(settled, first), append(pending, second)
	}
	named := w.Server.post(t, lists[0]+"/entries", object{"add": []object{{"value": "acct_3", "reason": "Reported by " + subject + " by phone"}}}).is(http.StatusAccepted).string("id")
	other.post(t, changePath(named, "approve"), nil).is(200)
	w.Admin.with("Idempotency-Key", "close "+subject).post(t, "/api/v1/webhook-endpoints", object{"url": "https://hooks.example/a"})
	exported := w.Server.post(t, "/api/v1/subjects/"+subject+"/export", nil).is(200)
	require.Len(t, exported.value("data.list_entries"), 2)
	require.NotContains(t, string(exported.body), "acct_1")

	differences := func(id string) int {
		return len(w.Server.get(t, "/api/v1/changes/"+id).is(200).value("differences").([]any))
	}
	require.Equal(t, 2, differences(settled[0]))
	w.Server.delete(t, "/api/v1/subjects/"+subject).is(202)
	eventually(t, func() bool {
		return count(t, "select count(*) from erasures where environment_id = $1 and status = 'completed'", w.ID) == 1
	}, "the subject is erased")
	require.Zero(t, count(t, "select count(*) from changes where environment_id = $1 and strpos(changes::text, $2) > 0", w.ID, subject))
	require.Zero(t, count(t, "select count(*) from list_entries where environment_id = $1 and strpos(reason, $2) > 0", w.ID, subject))
	require.Zero(t, count(t, "select count(*) from idempotency_keys where environment_id = $1 and strpos(key, $2) > 0", w.ID, subject))
	for i, list := range lists {
		require.Equal(t, 1, differences(settled[i]))
		require.Equal(t, 1, differences(pending[i]))
		other.post(t, changePath(pending[i], "approve"), nil).is(200)
		require.Len(t, w.Server.get(t, list+"/entries").is(200).list(), 2+1-i)
	}
}
