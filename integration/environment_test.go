package integration_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/models"
)

func TestUpdateEnvironment(t *testing.T) {
	t.Parallel()
	made := newTenant(t)
	w := made.Sandbox
	const path = "/api/v1/environment"
	before := w.Admin.get(t, path).is(200)
	require.Equal(t, w.ID, before.string("id"))
	require.Equal(t, "localhost", before.string("rp_id"))
	require.InDelta(t, 300, before.value("challenge_ttl_seconds"), 0)
	require.InDelta(t, 259200, before.value("hold_ttl_seconds"), 0)

	changed := w.Admin.patch(t, path, object{"rp_name": "Alder Bank", "origins": []string{"http://localhost:9999"}, "hold_ttl_seconds": 3600}).is(200)
	require.Equal(t, "Alder Bank", changed.string("rp_name"))
	require.Equal(t, []string{"http://localhost:9999"}, changed.strings("origins"))
	require.InDelta(t, 3600, changed.value("hold_ttl_seconds"), 0)
	require.InDelta(t, 300, changed.value("challenge_ttl_seconds"), 0, "omitted fields are unchanged")
	require.Equal(t, 1, count(t, "select count(*) from events where environment_id = $1 and type = 'environment.updated'", w.ID))

	for name, origins := range map[string][]string{
		"of another host": {"https://evil.example.com"}, "not an origin": {"localhost"}, "with a path": {"http://localhost/x"},
	} {
		require.Equal(t, []string{`["body","origins",0] value_error`}, w.Admin.patch(t, path, object{"origins": origins}).faults(), name)
	}
	live := made.Live.Admin.patch(t, path, object{"origins": []string{"http://localhost:8080"}})
	require.Equal(t, []string{`["body","origins",0] value_error`}, live.faults(), "live refuses local origins")
	require.Equal(t, changed.strings("origins"), w.Admin.get(t, path).is(200).strings("origins"), "a refused request changes nothing")
}

// An admin key sets where the hosted pages are and where they may lead, under the rules of the command line.
func TestUpdateHostedPages(t *testing.T) {
	t.Parallel()
	made := newTenant(t)
	w := made.Sandbox
	const path = "/api/v1/environment"
	pages := object{"origins": []string{"http://localhost:8080", "http://pages.localhost"}, "page_origin": "http://pages.localhost",
		"return_origins": []string{"https://shop.example"}, "frame_ancestors": []string{"https://intranet.example:8443"}}
	changed := w.Admin.patch(t, path, pages).is(200)
	require.Equal(t, "http://pages.localhost", changed.string("page_origin"))
	require.Equal(t, []string{"https://shop.example"}, changed.strings("return_origins"))
	require.Equal(t, changed.body, w.Admin.get(t, path).is(200).body)
	require.Equal(t, 1, count(t, `select count(*) from events where environment_id = $1 and type = 'environment.updated'
		and data->>'page_origin' = 'http://pages.localhost' and data->'return_origins' = '["https://shop.example"]'`, w.ID), "the audit log covers the pages")

	_, action := w.action(t, "enforce", challenging)
	link := func() response {
		challenge := w.authorize(t, w.subject(t), action, "challenge").string("challenge.id")
		return w.Server.post(t, "/api/v1/challenges/"+challenge+"/link", object{"return_url": "https://shop.example/paid"})
	}
	require.Contains(t, link().is(201).string("url"), "http://pages.localhost/")

	for name, c := range map[string]struct {
		body  object
		fault string
	}{
		"page origin without passkeys": {object{"page_origin": "https://elsewhere.example"}, `["body","page_origin"] value_error`},
		"origins without the pages":    {object{"origins": []string{"http://localhost:8080"}}, `["body","origins"] value_error`},
		"a wildcard":                   {object{"frame_ancestors": []string{"https://a.example", "https://*.example"}}, `["body","frame_ancestors",1] value_error`},
		"a path":                       {object{"return_origins": []string{"https://a.example/x"}}, `["body","return_origins",0] value_error`},
		"not https":                    {object{"return_origins": []string{"http://a.example"}}, `["body","return_origins",0] value_error`},
	} {
		require.Equal(t, []string{c.fault}, w.Admin.patch(t, path, c.body).faults(), name)
	}
	require.Equal(t, changed.body, w.Admin.get(t, path).is(200).body, "a refused request changes nothing")

	back := w.Admin.patch(t, path, object{"origins": []string{"http://localhost:8080"}, "page_origin": "", "return_origins": []string{}}).is(200)
	require.Nil(t, back.value("page_origin"))
	require.Empty(t, back.strings("return_origins"))
	require.Equal(t, []string{"https://intranet.example:8443"}, back.strings("frame_ancestors"), "omitted fields are unchanged")
	link().is(422)
	w.narrowed(t, models.PermissionConfigRead).patch(t, path, object{"return_origins": []string{}}).problem(403, "insufficient_scope")
}

// The brand is recorded, with the digest of the logo, and a refused one names the field.
func TestUpdateBrand(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	const path = "/api/v1/environment"
	require.Equal(t, map[string]any{"name": "", "accent": "", "language": "", "logo": ""}, w.Admin.get(t, path).is(200).value("brand"))
	changed := w.Admin.patch(t, path, object{"brand": object{"name": "Alder", "accent": "#6B2FB3", "language": "de"}}).is(200)
	require.Equal(t, map[string]any{"name": "Alder", "accent": "#6b2fb3", "language": "de", "logo": ""}, changed.value("brand"))
	var recorded string
	require.NoError(t, shared.Store.Pool().QueryRow(t.Context(),
		"select data->>'brand_accent' from events where environment_id = $1 and type = 'environment.updated'", w.ID).Scan(&recorded))
	require.Equal(t, "#6b2fb3", recorded)

	for field, bad := range map[string]string{"accent": "#ffcc00", "logo": "aGVsbG8=", "language": "xx", "name": "a\u202eb"} {
		refused := w.Admin.patch(t, path, object{"brand": object{field: bad}}).is(422)
		require.Contains(t, string(refused.body), "brand."+field)
	}
	require.Equal(t, changed.value("brand"), w.Admin.get(t, path).is(200).value("brand"), "a refused request changes nothing")
}

// A changed setting applies to the next challenge, on every replica.
func TestChangedSettingsReachTheNextChallenge(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	other := w.Server.at(replicaWithClock(t, clock.NewFake(time.Now()))) // its clock stands still, so that its caches do not expire
	_, action := w.action(t, "enforce", challenging)
	life := func(c caller) (float64, string) {
		made := c.post(t, "/api/v1/authorize", request(w.subject(t), action)).is(200).string("challenge.id")
		view := c.get(t, "/api/v1/challenges/"+made).is(200)
		var seconds float64
		err := shared.Store.Pool().QueryRow(t.Context(), "select extract(epoch from expires_at - created_at)::float8 from challenges where id = $1", made).Scan(&seconds)
		require.NoError(t, err)
		return seconds, view.string("display.requesting_application")
	}
	for _, c := range []caller{w.Server, other} { // fills both caches
		seconds, _ := life(c)
		require.EqualValues(t, 300, seconds)
	}
	w.Admin.patch(t, "/api/v1/environment", object{"challenge_ttl_seconds": 45, "rp_name": "Alder Bank"}).is(200)
	seconds, name := life(w.Server)
	require.EqualValues(t, 45, seconds)
	require.Equal(t, "Alder Bank", name)
	eventually(t, func() bool {
		seconds, name := life(other)
		return seconds == 45 && name == "Alder Bank"
	}, "the other replica is notified")
}

// Names that users see contain no line breaks and no bidirectional control characters.
func TestNamesRejectControlCharacters(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	for name, bad := range map[string]string{
		"CR LF": "Alder\r\nBank", "C1": "Alder\u0085Bank", "bidi override": "Alder\u202eknaB", "isolate": "\u2066Alder",
		"line separator": "Alder\u2028Bank",
	} {
		require.Equal(t, []string{`["body","rp_name"] control_character`}, w.Admin.patch(t, "/api/v1/environment", object{"rp_name": bad}).faults(), name)
		require.Equal(t, []string{`["body","name"] control_character`},
			w.Admin.post(t, "/api/v1/credentials", object{"scope": "server", "name": bad}).faults(), name)
		require.Equal(t, []string{`["body","description"] control_character`},
			w.Admin.post(t, "/api/v1/webhook-endpoints", object{"url": "http://127.0.0.1:9/x", "description": bad}).faults(), name)
	}
	for _, good := range []string{"Müller & Söhne", "بنك", "銀行 <1>"} {
		require.Equal(t, good, w.Admin.patch(t, "/api/v1/environment", object{"rp_name": good}).is(200).string("rp_name"))
	}
}
