package integration_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// browser opens the page of standing approvals with the cookies of one browser.
type browser struct {
	http.Client
	ticket string
}

// standingPage makes a link for the subject and a browser that has it.
func (w world) standingPage(t *testing.T, subject string) *browser {
	t.Helper()
	link := w.Server.post(t, "/api/v1/subjects/"+subject+"/standing-approvals/link", nil).is(201)
	page, ticket, ok := strings.Cut(link.string("url"), "#")
	require.True(t, ok)
	require.True(t, strings.HasSuffix(page, "/standing"), page)
	return newBrowser(t, ticket)
}

func newBrowser(t *testing.T, ticket string) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return &browser{Client: http.Client{Jar: jar}, ticket: ticket}
}

// show returns the page that the ticket opens, and its status.
func (b *browser) show(t *testing.T) (int, string) {
	t.Helper()
	return b.send(t, "", "application/x-www-form-urlencoded", "same-origin", []byte(url.Values{"ticket": {b.ticket}}.Encode()))
}

// script sends a request of the page's script, and returns the state of the page afterwards.
func (b *browser) script(t *testing.T, path string, more object) (state, message string, body []byte) {
	t.Helper()
	raw, err := json.Marshal(with(object{"ticket": b.ticket}, more))
	require.NoError(t, err)
	status, text := b.send(t, path, "application/json", "same-origin", raw)
	require.Equal(t, http.StatusOK, status, text)
	var out struct{ State, Message string }
	require.NoError(t, json.Unmarshal([]byte(text), &out))
	return out.State, out.Message, []byte(text)
}

func (b *browser) send(t *testing.T, path, kind, site string, body []byte) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, shared.baseURL+"/standing"+path, bytes.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", kind)
	req.Header.Set("Sec-Fetch-Site", site)
	req.Header.Set("Accept-Language", "en")
	res, err := b.Do(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(text)
}

// opens uses the device on the page, and returns its state and the message.
func (b *browser) opens(t *testing.T, d *device) (state, message string) {
	t.Helper()
	_, _, options := b.script(t, "/opening/options", nil)
	state, message, _ = b.script(t, "/opening", object{"assertion": d.assertion(t, options)})
	return state, message
}

// A subject sees what they allowed after using a passkey, and revokes it at once.
func TestSubjectRevokesStandingApproval(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.standingAction(t, standingPolicy)
	subject := w.subject(t)
	device := w.device(t, subject)
	path, kept := w.begun(t, subject, action, nil), w.begun(t, subject, action, object{"resource_id": "supplier-13"})
	w.decides(t, covered(subject, action, nil), "allow")
	id := strings.TrimPrefix(path, "/api/v1/standing-approvals/")
	b := w.standingPage(t, subject)

	status, page := b.show(t)
	require.Equal(t, http.StatusOK, status)
	for _, hidden := range []string{"supplier-1", "Release a payment", subject, id} {
		require.NotContains(t, page, hidden, "the page shows nothing before the passkey")
	}
	state, _, _ := b.script(t, "/revoke", object{"id": id})
	require.Equal(t, "gone", state)
	require.Equal(t, "active", w.Server.get(t, path).is(200).string("status"))

	state, message := b.opens(t, device)
	require.Equal(t, "open", state, message)
	_, page = b.show(t)
	for _, shown := range []string{"supplier-12", "supplier-13", "Release a payment", "89.50 EUR", id} {
		require.Contains(t, page, shown)
	}
	other := newBrowser(t, b.ticket)
	_, page = other.show(t)
	require.NotContains(t, page, "supplier-1", "the link opens in one browser")

	for range 2 { // revoking it again changes nothing
		state, _, _ = b.script(t, "/revoke", object{"id": id})
		require.Equal(t, "open", state)
	}
	w.decides(t, covered(subject, action, nil), "challenge")
	_, page = b.show(t)
	require.NotContains(t, page, "supplier-12")
	require.Contains(t, page, "supplier-13")
	ended := w.Server.get(t, path).is(200)
	require.Equal(t, "passkey:"+device.id, ended.string("ended_by"))
	require.Equal(t, "revoked", ended.string("end_reason"))
	require.Equal(t, "active", w.Server.get(t, kept).is(200).string("status"))
	require.Equal(t, 1, count(t, "select count(*) from events where environment_id = $1 and type = 'standing.ended' and actor = $2 and data->>'reason' = 'revoked'",
		w.ID, "passkey:"+device.id))
	require.Equal(t, 1, count(t, "select count(*) from events where environment_id = $1 and type = 'standing.link_opened' and actor = $2", w.ID, "passkey:"+device.id))

	w.Server.delete(t, "/api/v1/subjects/"+subject+"/passkeys/"+device.id)
	_, page = b.show(t)
	require.NotContains(t, page, "supplier-13", "the passkey that opened it is revoked")
	w.intact(t)
}

// A link opens by the passkeys of its subject only, in its own environment, until it ends.
func TestStandingPageRefuses(t *testing.T) {
	t.Parallel()
	w, elsewhere := newSandbox(t), newSandbox(t)
	_, action := w.standingAction(t, standingPolicy)
	_, foreign := elsewhere.standingAction(t, standingPolicy)
	subject, other := w.subject(t), w.subject(t)
	own, others := w.device(t, subject), w.device(t, other)
	path := w.begun(t, subject, action, nil)
	id := strings.TrimPrefix(path, "/api/v1/standing-approvals/")

	t.Run("another subject's passkey, five times", func(t *testing.T) {
		b := w.standingPage(t, subject)
		for range 5 {
			state, message := b.opens(t, others)
			require.Equal(t, "closed", state)
			require.Contains(t, message, "passkey")
		}
		status, page := b.show(t)
		require.Equal(t, http.StatusGone, status)
		require.Contains(t, page, "closed for your safety")
		state, _, _ := b.script(t, "/opening/options", nil)
		require.Equal(t, "gone", state)
		require.Equal(t, 5, count(t, "select count(*) from events where environment_id = $1 and type = 'standing.link_refused'", w.ID))
	})
	t.Run("an assertion again", func(t *testing.T) {
		b := w.standingPage(t, subject)
		_, _, options := b.script(t, "/opening/options", nil)
		assertion := object{"assertion": own.assertion(t, options)}
		state, _, _ := b.script(t, "/opening", assertion)
		require.Equal(t, "open", state)
		state, _, _ = newBrowser(t, b.ticket).script(t, "/opening", assertion)
		require.Equal(t, "closed", state)
	})
	t.Run("someone else's standing approval", func(t *testing.T) {
		stranger := elsewhere.subject(t)
		phone := elsewhere.device(t, stranger)
		theirs := strings.TrimPrefix(elsewhere.begun(t, stranger, foreign, nil), "/api/v1/standing-approvals/")
		for _, c := range []struct {
			b  *browser
			d  *device
			id string
		}{{w.standingPage(t, other), others, id}, {elsewhere.standingPage(t, stranger), phone, id}, {w.standingPage(t, subject), own, theirs}, {w.standingPage(t, subject), own, "sta_none"}} {
			state, message := c.b.opens(t, c.d)
			require.Equal(t, "open", state, message)
			state, _, _ = c.b.script(t, "/revoke", object{"id": c.id})
			require.Equal(t, "gone", state)
		}
		require.Equal(t, "active", w.Server.get(t, path).is(200).string("status"))
	})
	t.Run("a page of another site", func(t *testing.T) {
		b := w.standingPage(t, subject)
		state, _ := b.opens(t, own)
		require.Equal(t, "open", state)
		raw, err := json.Marshal(object{"ticket": b.ticket, "id": id})
		require.NoError(t, err)
		for _, site := range []string{"cross-site", "same-site", "none"} {
			status, _ := b.send(t, "/revoke", "application/json", site, raw)
			require.Equal(t, http.StatusForbidden, status, site)
		}
		status, _ := b.send(t, "/revoke", "text/plain", "same-origin", raw)
		require.Equal(t, http.StatusBadRequest, status)
		require.Equal(t, "active", w.Server.get(t, path).is(200).string("status"))
	})
	t.Run("expired", func(t *testing.T) {
		b := w.standingPage(t, other)
		state, _ := b.opens(t, others)
		require.Equal(t, "open", state)
		require.Equal(t, 1, count(t, `with ended as (update standing_links set expires_at = now() - interval '1 minute' where environment_id = $1 and created_at = (
			select max(created_at) from standing_links where environment_id = $1) returning 1) select count(*) from ended`, w.ID))
		status, page := b.show(t)
		require.Equal(t, http.StatusGone, status)
		require.Contains(t, page, "This link has expired")
		state, _, _ = b.script(t, "/revoke", object{"id": id})
		require.Equal(t, "gone", state)
	})
	t.Run("unknown", func(t *testing.T) {
		for _, ticket := range []string{"", "abc", strings.Repeat("A", 43)} {
			status, page := newBrowser(t, ticket).show(t)
			require.Equal(t, http.StatusNotFound, status)
			require.Contains(t, page, "incomplete or mistyped")
		}
	})
	t.Run("a revoked subject", func(t *testing.T) {
		gone := w.subject(t)
		device := w.device(t, gone)
		b := w.standingPage(t, gone)
		state, _ := b.opens(t, device)
		require.Equal(t, "open", state)
		w.Server.post(t, "/api/v1/subjects/"+gone+"/revoke", object{}).is(200)
		status, _ := b.show(t)
		require.Equal(t, http.StatusGone, status)
		w.Server.post(t, "/api/v1/subjects/"+gone+"/standing-approvals/link", nil).problem(409, "subject_revoked")
	})
	w.Server.post(t, "/api/v1/subjects/"+unique()+"/standing-approvals/link", nil).problem(404, "not_found")
}
