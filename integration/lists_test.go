package integration_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/delivery/configfile"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// listOf creates a list with entries and returns its path.
func (w world) listOf(t testing.TB, draft object, values ...string) string {
	t.Helper()
	path := "/api/v1/lists/" + w.Server.post(t, "/api/v1/lists", draft).is(201).string("id")
	if len(values) > 0 {
		w.Server.post(t, path+"/entries", adding(values...)).is(200)
	}
	return path
}

// adding is a change that adds values.
func adding(values ...string) object {
	entries := make([]object, len(values))
	for i, v := range values {
		entries[i] = object{"value": v, "reason": "Known."}
	}
	return object{"add": entries}
}

// listEntry returns what a decision read of a list; empty for nothing.
func (w world) listEntry(t *testing.T, id, name string) string {
	t.Helper()
	for _, entry := range w.Server.get(t, "/api/v1/authorizations/"+id).is(200).value("explanation").([]any) {
		if e := entry.(map[string]any); e["requirement"] == "lists."+name {
			return e["found"].(string)
		}
	}
	return ""
}

func TestRuleReadsAPersonalList(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	payees := w.listOf(t, object{"name": "trusted_payees", "kind": "text", "personal": true, "description": "Paid before."})
	_, action := w.ruled(t, "transfer.payee", rule("new_payee", `!has(context.purpose) || !(context.purpose in list("trusted_payees"))`, holdMatched))
	subject := w.subject(t)
	pay := func(payee string) response {
		return w.Server.post(t, "/api/v1/authorize", with(request(subject, action), object{"context": object{"amount": "1.00", "purpose": payee}})).is(200)
	}
	const iban = "DE89370400440532013000"
	first := pay(iban)
	require.Equal(t, "hold", first.string("decision"))
	require.Equal(t, `matched: context.purpose, list("trusted_payees")`, w.ruleEntry(t, first.string("id"), "new_payee")["found"])
	require.Equal(t, "version 1: no entry", w.listEntry(t, first.string("id"), "trusted_payees"))

	made := w.Server.post(t, payees+"/entries", object{"add": []object{{"value": "DE89 3704 0044 0532 0130 00", "reason": "Paid before.", "expires_at": "2099-01-01T00:00:00Z"}}}).is(200)
	require.Equal(t, 2.0, made.value("version"))
	require.Equal(t, 1.0, made.value("entries"))
	entry := w.Server.get(t, payees+"/entries").is(200).list()[0]
	require.Nil(t, entry["value"], "a personal list has digests only")
	require.Equal(t, "Paid before.", entry["reason"])
	require.Contains(t, entry["added_by"], "credential:")
	require.Equal(t, "2099-01-01T00:00:00.000Z", entry["expires_at"])

	second := pay(" de89370400440532013000")
	require.Equal(t, "allow", second.string("decision"), "case and white space make no difference")
	require.Equal(t, "version 2: "+entry["id"].(string), w.listEntry(t, second.string("id"), "trusted_payees"), "also of a rule that does not match")
	require.Equal(t, "hold", pay(iban[:21]).string("decision"), "the whole value")
	require.NotContains(t, strings.ToLower(string(w.Server.get(t, "/api/v1/authorizations/"+second.string("id")).is(200).body)), strings.ToLower(iban))
	var stored string
	require.NoError(t, shared.Store.Pool().QueryRow(t.Context(), "select e::text from list_entries e where environment_id = $1", w.ID).Scan(&stored))
	require.NotContains(t, strings.ToLower(stored), "de89")

	require.Equal(t, 2.0, w.Server.post(t, payees+"/entries", object{"remove": []object{{"value": "unknown"}}}).is(200).value("version"), "nothing changes")
	require.Equal(t, 3.0, w.Server.post(t, payees+"/entries", object{"remove": []object{{"value": strings.ToLower(iban)}}}).is(200).value("version"))
	require.Equal(t, "hold", pay(iban).string("decision"))
}

func TestRuleReadsCountriesAndIBANs(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	banks := w.listOf(t, object{"name": "own_banks", "kind": "iban_prefix"}, "DE", "de89 3704", "FR76")
	w.listOf(t, object{"name": "markets", "kind": "country"}, "DE", "fr")
	_, action := w.ruled(t, "transfer.lists",
		rule("foreign_bank", `has(context.purpose) && !(context.purpose in list("own_banks"))`, holdMatched),
		rule("foreign", `resource.id in list("markets") && decimal(context.amount) > 10`, object{"deny_on": []string{"rule_matched"}}))
	subject := w.subject(t)
	decide := func(amount, iban, resource string) response {
		r := with(request(subject, action), object{"context": object{"amount": amount, "purpose": iban}})
		r["resource"].(object)["id"] = resource
		return w.Server.post(t, "/api/v1/authorize", r).is(200)
	}
	longest := ""
	for _, e := range w.Server.get(t, banks+"/entries").is(200).list() {
		if e["value"] == "de89 3704" {
			longest = e["id"].(string)
		}
	}
	got := decide("1.00", "DE89 3704 0044 0532 0130 00", "DE")
	require.Equal(t, "allow", got.string("decision"))
	require.Equal(t, "version 2: "+longest, w.listEntry(t, got.string("id"), "own_banks"), "the longest prefix")
	require.Empty(t, w.listEntry(t, got.string("id"), "markets"), "a list is not read for a rule that is false without it")
	require.Equal(t, "hold", decide("1.00", "GB29NWBK60161331926819", "DE").string("decision"))
	require.Equal(t, "hold", decide("1.00", "ZDE89", "DE").string("decision"))
	require.Equal(t, "deny", decide("10.01", "FR7630006000011234567890189", "Fr").string("decision"))
	require.Equal(t, "allow", decide("10.01", "FR7630006000011234567890189", "FRA").string("decision"))

	require.Equal(t, 2.0, w.Server.post(t, banks+"/entries", object{"remove": []object{{"value": "DE-89"}, {"value": "fr-1"}}}).is(200).value("version"),
		"what begins with an entry is not that entry")
	texts := w.listOf(t, object{"name": "texts", "kind": "text"})
	w.Server.post(t, texts+"/entries", adding(strings.Repeat("ﷺ", 100))).is(422) // 1,500 letters as it is compared
}

func TestListsAreChecked(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	for name, c := range map[string]struct {
		draft  object
		status int
		says   string
	}{
		"a name in capitals": {object{"name": "Payees", "kind": "text"}, 422, "name"},
		"an unknown kind":    {object{"name": "ranges", "kind": "cidr"}, 422, "kind"},
		"a personal country": {object{"name": "a", "kind": "country", "personal": true}, 422, "a personal list compares whole values"},
		"a personal prefix":  {object{"name": "a", "kind": "iban_prefix", "personal": true}, 422, "a personal list compares whole values"},
		"hidden text":        {object{"name": "a", "kind": "text", "description": "a\u202eb"}, 422, "description"},
		"a name in use":      {object{"name": "taken", "kind": "country"}, 409, `has a list with the name \"taken\"`},
	} {
		if name == "a name in use" {
			w.listOf(t, object{"name": "taken", "kind": "text"})
		}
		require.Contains(t, string(w.Server.post(t, "/api/v1/lists", c.draft).is(c.status).body), c.says, name)
	}
	path := w.listOf(t, object{"name": "countries", "kind": "country"})
	for name, c := range map[string]struct {
		change object
		says   string
	}{
		"no country":     {adding("Germany"), "a country of two letters"},
		"twice":          {adding("DE", "d e"), "added twice"},
		"no reason":      {object{"add": []object{{"value": "DE", "reason": " "}}}, "reason must have"},
		"expired":        {object{"add": []object{{"value": "DE", "reason": "r", "expires_at": "2001-01-01T00:00:00Z"}}}, "in the future"},
		"an odd time":    {object{"add": []object{{"value": "DE", "reason": "r", "expires_at": "9999-12-31T23:59:59-00:01"}}}, "expires_at"},
		"neither nor":    {object{"remove": []object{{}}}, "remove"},
		"id and value":   {object{"remove": []object{{"id": "x", "value": "DE"}}}, "remove"},
		"a single entry": {object{"add": object{"value": "DE", "reason": "r"}}, "add"},
	} {
		require.Contains(t, string(w.Server.post(t, path+"/entries", c.change).is(422).body), c.says, name)
	}
	require.Equal(t, 1.0, w.Server.get(t, path).is(200).value("version"))

	other := newSandbox(t)
	other.Server.get(t, path).is(404)
	other.Server.get(t, path+"/entries").is(404)
	other.Server.post(t, path+"/entries", adding("DE")).is(404)
	other.Server.delete(t, path).is(404)
}

func TestListsAreListed(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	older, newer := w.listOf(t, object{"name": "older", "kind": "text"}, "b", "a"), w.listOf(t, object{"name": "newer", "kind": "country"})
	first := w.Server.get(t, "/api/v1/lists?limit=1").is(200)
	require.Equal(t, "newer", first.list()[0]["name"])
	second := w.Server.get(t, nextPage.FindStringSubmatch(first.header.Get("Link"))[1]).is(200)
	require.Equal(t, "older", second.list()[0]["name"])
	require.Empty(t, second.header.Get("Link"))
	require.Empty(t, w.Server.get(t, newer+"/entries").is(200).list())
	require.Len(t, w.Server.get(t, older+"/entries").is(200).list(), 2)
	for value, want := range map[string]int{"b": 1, "%20B%20": 1, "c": 0, "%25": 0} {
		require.Len(t, w.Server.get(t, older+"/entries?value="+value).is(200).list(), want, value)
	}
	banks := w.listOf(t, object{"name": "banks", "kind": "iban_prefix"}, "DE", "DE89 3704", "FR")
	require.Len(t, w.Server.get(t, banks+"/entries?value=de89370400440532013000").is(200).list(), 2, "the entries that have the value")
	require.Len(t, w.Server.get(t, banks+"/entries?value=8937").is(200).list(), 1, "a part of one")
}

func TestListsHaveBounds(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	path := w.listOf(t, object{"name": "full", "kind": "text"}, "first")
	id := strings.TrimPrefix(path, "/api/v1/lists/")
	const part = 10_000 // less than a slow machine inserts within the timeout of a statement
	for last := part; last <= 100_000; last += part {
		_, err := shared.Store.Pool().Exec(t.Context(), `insert into list_entries (id, tenant_id, environment_id, list_id, key, value, reason, added_at, added_by, salt)
			select 'lse_' || n, tenant_id, environment_id, list_id, 'v' || n, 'v' || n, 'r', added_at, 'cli:test', '' from list_entries, generate_series($2::int, $3) n
			where list_id = $1 and value = 'first'`, id, max(2, last-part+1), last)
		require.NoError(t, err)
	}
	require.NoError(t, shared.Store.Write(t.Context(), func(q *pg.Q) error {
		_, err := pg.Change[models.List](t.Context(), q, "environment_id = @environment and id = @id", "entries = 100000", map[string]any{"environment": w.ID, "id": id})
		return err
	}))
	require.Contains(t, w.Server.post(t, path+"/entries", adding("one more")).is(409).string("detail"), "100001 entries, and at most 100000 are possible")
	w.Server.post(t, path+"/entries", with(adding("one more"), object{"remove": []object{{"value": "v2"}}})).is(200)

	many := make([]string, 501)
	for i := range many {
		many[i] = strconv.Itoa(i)
	}
	w.Server.post(t, path+"/entries", adding(many...)).is(422)
	for i := range 99 {
		w.listOf(t, object{"name": "list_" + strconv.Itoa(i), "kind": "text"})
	}
	require.Contains(t, w.Server.post(t, "/api/v1/lists", object{"name": "another", "kind": "text"}).is(409).string("detail"), "at most 100 are possible")

	seen, next := 0, path+"/entries?limit=50"
	for range 3 {
		page := w.Server.get(t, next).is(200)
		seen, next = seen+len(page.list()), nextPage.FindStringSubmatch(page.header.Get("Link"))[1]
	}
	require.Equal(t, 150, seen)
}

func TestPoliciesRequireTheirLists(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	path, _ := w.ruled(t, "transfer.required", rule("good", "true", holdMatched))
	unknown := object{"requirements": with(allowing, object{"rules": []object{rule("good", "true", holdMatched), rule("bad", "resource.id != \"\" &&\n resource.id in list(\"blocked\")", holdMatched)}})}
	refused := w.Server.post(t, path+"/policy-versions", unknown).is(422)
	fault := refused.value("detail").([]any)[0].(map[string]any)
	require.Equal(t, []any{"body", "requirements", "rules", 1.0, "when"}, fault["loc"])
	require.Equal(t, "unknown_list", fault["type"])
	require.Equal(t, `requirements.rules[1].when of the rule "bad": line 2 column 21: the environment has no list "blocked"; create the list first, or correct its name.`, fault["msg"])

	list := w.listOf(t, object{"name": "blocked", "kind": "text"})
	number := strconv.Itoa(int(w.Server.post(t, path+"/policy-versions", unknown).is(201).value("version").(float64)))
	w.Server.delete(t, list).is(204)
	require.Contains(t, w.Server.post(t, path+"/policy-versions/"+number+"/activate", nil).is(409).string("detail"), `read the list "blocked"`)

	list = w.listOf(t, object{"name": "blocked", "kind": "text"}, "acct_1")
	w.Server.post(t, path+"/policy-versions/"+number+"/activate", nil).is(200)
	require.Contains(t, w.Server.delete(t, list).is(409).string("detail"), "transfer.required")
	w.Server.delete(t, path).is(204)
	w.Server.delete(t, list).is(204)
	w.Server.get(t, list).is(404)
}

func TestSecondApproverChangesLists(t *testing.T) {
	t.Parallel()
	w, other := fourEyes(t)
	list := w.listOf(t, object{"name": "trusted", "kind": "text", "personal": true})
	waiting := w.Server.post(t, list+"/entries", adding("DE89370400440532013000")).is(http.StatusAccepted)
	require.Equal(t, "list.entries", waiting.string("kind"))
	require.Equal(t, "trusted", waiting.string("list"))
	require.NotContains(t, strings.ToLower(string(waiting.body)), "de8937", "an approver sees no value of a personal list")
	require.Equal(t, waiting.string("id"), w.Server.post(t, list+"/entries", adding("de89 370400440532013000")).is(http.StatusAccepted).string("id"))
	second := w.Server.post(t, list+"/entries", adding("another")).is(http.StatusAccepted).string("id")
	require.Equal(t, 0.0, w.Server.get(t, list).is(200).value("entries"))
	other.post(t, changePath(waiting.string("id"), "approve"), nil).is(200)
	other.post(t, changePath(second, "approve"), nil).is(200)
	require.Equal(t, 2.0, w.Server.get(t, list).is(200).value("entries"), "changes of different entries do not supersede each other")
	w.Server.post(t, list+"/entries", adding("another")).is(200)

	remove := w.Server.post(t, list+"/entries", object{"remove": []object{{"value": "another"}}}).is(http.StatusAccepted)
	require.Len(t, remove.value("differences"), 1)
	again := w.Server.post(t, list+"/entries", object{"add": []object{{"value": "another", "reason": "Better."}}}).is(http.StatusAccepted).string("id")
	other.post(t, changePath(again, "approve"), nil).is(200)
	other.post(t, changePath(remove.string("id"), "approve"), nil).problem(http.StatusConflict, "change_superseded")

	gone := w.Server.delete(t, list).is(http.StatusAccepted).string("id")
	other.post(t, changePath(gone, "approve"), nil).is(200)
	w.Server.get(t, list).is(404)
}

func TestConfigurationFileHasLists(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, key := w.ruled(t, "transfer.file", rule("good", "true", holdMatched))
	file := `version: 1
lists:
  blocked: {kind: text, personal: true, description: Reported.}
actions:
  ` + key + `:
    requirements:
      coverage_min: none
      rules: [{name: blocked, when: 'resource.id in list("blocked")', requirements: {deny_on: [rule_matched]}, reason: Reported.}]
`
	require.Contains(t, w.byFile(t).diff(t, file, false), "+ lists.blocked")
	require.Contains(t, w.byFile(t).apply(t, file, false), "lists.blocked: created")
	require.NotContains(t, w.byFile(t).diff(t, file, false), "lists.blocked")
	require.Contains(t, w.byFile(t).export(t), "blocked")
	_, err := w.byFile(t).plan(t, "version: 1\nlists: {blocked: {kind: country}}\n", false)
	require.ErrorContains(t, err, "lists.blocked.")
	require.Contains(t, w.byFile(t).diff(t, "version: 1\nlists: {}\n", true), "- lists.blocked")
}

func TestConfigurationFileHasEntries(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	file := func(entries string) string {
		return "version: 1\nlists:\n  countries:\n    kind: country\n    entries:\n" + entries
	}
	f := w.byFile(t)
	require.Contains(t, f.apply(t, file("      - {value: KP, reason: Sanctions.}\n      - {value: ir, reason: Sanctions., expires_at: 2099-01-01T00:00:00Z}\n"), false),
		"lists.countries.entries: 2 added or changed, 0 removed")
	exported := f.export(t)
	require.Contains(t, exported, "value: KP")
	require.NotContains(t, f.diff(t, exported, true), "lists", "as the file says")
	changed := file("      - {value: k p, reason: Sanctions.}\n      - {value: DE, reason: Known.}\n      - {value: FR, reason: Known., expires_at: 2001-01-01T00:00:00Z}\n")
	require.Contains(t, f.diff(t, changed, false), "lists.countries.entries: 1 that are not in the file are kept; --prune removes them")
	pruning := f.diff(t, changed, true)
	require.Contains(t, pruning, "~ lists.countries.entries\n")
	require.Contains(t, pruning, `DE: (none) -> {"value":"DE","reason":"Known."}`)
	require.Contains(t, pruning, "lists.countries.entries[2] is left out: it has expired")
	require.NotContains(t, pruning, "KP", "the same value")
	require.Contains(t, f.apply(t, changed, true), "1 added or changed, 1 removed")
	require.Len(t, w.Server.get(t, "/api/v1/lists").is(200).list(), 1)

	w.listOf(t, object{"name": "payees", "kind": "text", "personal": true}, "DE89370400440532013000")
	state, err := configfile.Read(t.Context(), f.api)
	require.NoError(t, err)
	require.Len(t, state.Notes, 1)
	require.Contains(t, state.Notes[0], "lists.payees: its 1 entries are left out: a personal list stores digests of its values under a key of its own")
	for text, says := range map[string]string{
		"version: 1\nlists: {payees: {personal: true, entries: [{value: a, reason: b}]}}\n":              "a file must not have the values themselves",
		"version: 1\nlists: {countries: {entries: [{value: Germany, reason: b}]}}\n":                     "lists.countries.entries[0]: value must be a country",
		"version: 1\nlists: {countries: {entries: [{value: DE, reason: b}, {value: d e, reason: b}]}}\n": "lists.countries.entries[1]: value is that of entry 0",
	} {
		_, err := f.plan(t, text, false)
		require.ErrorContains(t, err, says)
	}
}
