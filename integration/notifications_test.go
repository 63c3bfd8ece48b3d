package integration_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/delivery/notify"
	"github.com/countersign-dev/countersign/models"
)

// chat adds a chat address to the environment and returns its id.
func (w world) chat(t testing.TB, name, target string) string {
	t.Helper()
	v := w.signedIn(t, models.RoleOperator)
	done := v.submit("/console/"+w.ID+"/notifications/chats/new", url.Values{"name": {name}, "shape": {"slack"}, "url": {target}})
	require.Equal(t, http.StatusSeeOther, done.status, done.body)
	rows, err := notify.ChatAddresses(t.Context(), shared.Store.Q, w.scope())
	require.NoError(t, err)
	for _, r := range rows {
		if r.Name == name {
			return r.ID
		}
	}
	require.Fail(t, "the chat address is not stored")
	return ""
}

// anyChat returns the id of a chat address of the environment; that of none if it has none.
func (w world) anyChat() string {
	rows, err := notify.ChatAddresses(context.Background(), shared.Store.Q, w.scope())
	if err != nil || len(rows) == 0 {
		return "cha_01jqx3k5v8e2sbyk0c4m7t9wzd"
	}
	return rows[0].ID
}

// chatRoom is a chat that fails at first, delays and takes a message although it reports an error.
type chatRoom struct {
	url    string
	mu     sync.Mutex
	status []int         // of the next requests; 200 afterwards
	hold   chan struct{} // requests wait for it, if it is set
	ids    []string
	texts  map[string]bool
}

func newChatRoom(t *testing.T, status ...int) *chatRoom {
	t.Helper()
	r := &chatRoom{status: status, texts: map[string]bool{}}
	srv := httptest.NewServer(r)
	t.Cleanup(srv.Close)
	r.url = srv.URL
	return r
}

func (r *chatRoom) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var body struct{ Text string }
	_ = json.NewDecoder(req.Body).Decode(&body)
	r.mu.Lock()
	status, hold := http.StatusOK, r.hold
	if len(r.status) > 0 {
		status, r.status = r.status[0], r.status[1:]
	}
	r.ids = append(r.ids, req.Header.Get("webhook-id"))
	r.texts[body.Text] = true
	r.mu.Unlock()
	if hold != nil {
		<-hold
	}
	w.WriteHeader(status)
}

func (r *chatRoom) seen() (ids []string, texts int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string{}, r.ids...), len(r.texts)
}

// all returns the texts that were posted.
func (r *chatRoom) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.texts))
}

// settled counts the notices of the environment by status.
func (w world) settled(t *testing.T, status string) int {
	t.Helper()
	var n int
	require.NoError(t, shared.Store.Pool().QueryRow(t.Context(), "select count(*) from notices where environment_id = $1 and status = $2", w.ID, status).Scan(&n))
	return n
}

var mailedCode = regexp.MustCompile(`Your code is (\d{6})\.`)

// A reviewer gives an address, confirms it with the code that is mailed, chooses, and is notified by e-mail.
func TestReviewerIsNotifiedByMail(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	box := mailbox(t)
	ann := w.signedIn(t, models.RoleReviewer)
	at, address := "/console/"+w.ID+"/notifications", "ann+"+w.ID+"@example.com"
	require.Contains(t, ann.get("/console/"+w.ID+"/reviews").body, `href="`+at+`"`, "the account menu leads to the page")
	require.Contains(t, fault(t, ann.submit(at+"/address", url.Values{"address": {"ann"}}), "address"), "one e-mail address")
	require.Equal(t, 303, ann.submit(at+"/address", url.Values{"address": {address}}).status)
	require.Contains(t, ann.get(at).body, "not confirmed")
	// The mail server is unavailable until now: the code waits.
	box.open()
	eventually(t, func() bool { return len(box.to(address)) > 0 }, "the code is mailed")
	codes := mailedCode.FindStringSubmatch(box.to(address)[0].Text)
	require.Len(t, codes, 2)
	require.Contains(t, fault(t, ann.submit(at+"/code", url.Values{"code": {codes[1] + "0"}}), "code"), "mailed last")
	require.Equal(t, 303, ann.submit(at+"/code", url.Values{"code": {codes[1]}}).status)
	require.Equal(t, 303, ann.submit(at, url.Values{"choice": {"opened:email", "due_soon:email"}}).status)
	require.Contains(t, ann.get(at).body, `value="opened:email" aria-label="Opened, E-mail to `)
	require.Contains(t, ann.get(at).body, "those of the next 15 minutes in one e-mail.")
	times := url.Values{"gather_minutes": {"60"}, "quiet_from": {"22:00"}, "quiet_until": {"07:00"}, "zone": {"Berlin"}}
	require.Contains(t, fault(t, ann.submit(at+"/times", times), "zone"), "IANA")
	times.Set("zone", "Europe/Berlin")
	require.Equal(t, 303, ann.submit(at+"/times", times).status)
	require.Contains(t, ann.get(at).body, "Nothing is mailed from 22:00 to 07:00 (Europe/Berlin).")
	require.Equal(t, 303, ann.submit(at+"/times", url.Values{"gather_minutes": {"0"}, "zone": {"Europe/Berlin"}}).status)
	before := len(box.to(address))

	_, action := w.action(t, "enforce", holding)
	subject := w.subject(t)
	held := w.authorize(t, subject, action, "hold").string("id")
	eventually(t, func() bool { return len(box.to(address)) > before }, "the hold is announced")
	got := box.to(address)[before]
	require.Contains(t, got.Subject, "A hold waits for review: ")
	require.Contains(t, got.Text, shared.baseURL+"/console/"+w.ID+"/reviews/"+held)
	require.Contains(t, got.Text, "Due: ")
	require.Equal(t, "<"+held+"@localhost>", got.Headers["in-reply-to"])
	require.NotContains(t, got.Subject+got.Text, subject)
	eventually(t, func() bool { return w.settled(t, "sent") == 1 }, "and recorded")
	require.Len(t, box.to(address), before+1)
	w.recorded(t, ann, "person.notices_chosen")

	require.NoError(t, shared.People.Revoke(t.Context(), w.TenantID, ann.person, "cli:test"))
	w.authorize(t, w.subject(t), action, "hold")
	var stored int
	require.NoError(t, shared.Store.Pool().QueryRow(t.Context(), `select (select count(*) from person_addresses where person_id = $1) +
		(select count(*) from notice_choices where person_id = $1)`, ann.person).Scan(&stored))
	require.Zero(t, stored, "the address goes with the person's access")
}

// A chat that fails, delays, or takes a message and reports an error gets each message until it accepts it, always with the same id.
func TestChatIsNotifiedOfEachHoldOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status []int
		delays bool
	}{
		"fails":   {status: []int{500, 502, 503}},
		"doubles": {status: []int{504}}, // the message is in the room although the response says that it is not
		"delays":  {delays: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newSandbox(t)
			room := newChatRoom(t, c.status...)
			if c.delays {
				room.hold = make(chan struct{})
			}
			id := w.chat(t, "desk", room.url+"/hook")
			for range 2 {
				v := w.signedIn(t, models.RoleReviewer)
				require.Equal(t, 303, v.submit("/console/"+w.ID+"/notifications", url.Values{"choice": {"opened:" + id}}).status)
			}
			_, action := w.action(t, "enforce", holding)
			w.authorize(t, w.subject(t), action, "hold")
			if c.delays {
				eventually(t, func() bool { ids, _ := room.seen(); return len(ids) == 1 }, "the post is under way")
				close(room.hold)
			}
			eventually(t, func() bool { return w.settled(t, "sent") == 1 }, "the chat has accepted it")
			ids, texts := room.seen()
			require.Len(t, ids, len(c.status)+1)
			require.Equal(t, 1, texts)
			for _, other := range ids {
				require.Equal(t, ids[0], other)
			}
		})
	}
}

// A chat that does not respond delays no webhook.
func TestFailingChatDelaysNothingElse(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	room, receiver := newChatRoom(t), newReceiver(t)
	room.hold = make(chan struct{})
	t.Cleanup(func() { close(room.hold) })
	w.subscribe(t, receiver, "hold.opened")
	id := w.chat(t, "desk", room.url+"/hook")
	v := w.signedIn(t, models.RoleReviewer)
	require.Equal(t, 303, v.submit("/console/"+w.ID+"/notifications", url.Values{"choice": {"opened:" + id}}).status)
	_, action := w.action(t, "enforce", holding)
	w.authorize(t, w.subject(t), action, "hold")
	eventually(t, func() bool { ids, _ := room.seen(); return len(ids) == 1 }, "the post is under way")
	eventually(t, func() bool { return len(receiver.types()) == 1 }, "the webhook is delivered")
	require.Equal(t, 1, w.settled(t, "pending"))
}

// Staff whose id the subject has, and who review nothing, are notified in a chat of what became of their request, with a link that opens its status page.
func TestRequesterIsNotifiedInAChat(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	room := newChatRoom(t)
	id := w.chat(t, "desk", room.url+"/hook")
	requester := w.signedIn(t, models.RoleAuditor)
	require.Equal(t, 303, requester.submit("/console/"+w.ID+"/notifications", url.Values{"choice": {"settled:" + id}}).status)
	_, action := w.action(t, "enforce", holding)
	w.Server.post(t, "/api/v1/subjects", object{"id": requester.person}).is(201)
	held := w.authorize(t, requester.person, action, "hold").string("id")
	w.reviewer(t).post(t, reviewPath(held), object{"resolution": "reject"}).is(200)
	eventually(t, func() bool { ids, _ := room.seen(); return len(ids) == 1 }, "the result is posted")
	posted := room.all()[0]
	require.Contains(t, posted, "A request was declined: ")
	link := regexp.MustCompile(`<([^|>]+/status/[^|>]+)\|`).FindStringSubmatch(posted)
	require.Len(t, link, 2, posted)
	page, err := http.Get(link[1])
	require.NoError(t, err)
	require.NoError(t, page.Body.Close())
	require.Equal(t, 200, page.StatusCode)
}

func TestOperatorManagesChatAddresses(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	room := newChatRoom(t, 200, 404)
	id := w.chat(t, "desk", room.url+"/a-secret-path")
	v, at := w.signedIn(t, models.RoleOperator), "/console/"+w.ID+"/notifications"
	page := v.get(at).body
	require.Contains(t, page, "desk")
	require.NotContains(t, page, "a-secret-path")
	require.Contains(t, page, "Result of my request", "an operator may request what reviewers decide")
	require.Contains(t, v.submit(at+"/chats/"+id+"/test", nil).body, "The chat accepted the test.")
	require.Contains(t, v.submit(at+"/chats/"+id+"/test", nil).body, "The test failed")
	require.Contains(t, v.get(at).body, "status_404")
	for field, form := range map[string]url.Values{
		"name": {"name": {"desk"}, "shape": {"teams"}, "url": {room.url}},
		"url":  {"name": {"other"}, "shape": {"teams"}, "url": {"https://169.254.169.254/"}},
	} {
		require.NotEmpty(t, fault(t, v.submit(at+"/chats/new", form), field))
	}
	require.Equal(t, 400, v.submit(at+"/chats/"+id+"/remove", nil).status)
	require.Equal(t, 303, v.submit(at+"/chats/"+id+"/remove", sure()).status)
	require.Contains(t, v.get(at).body, "No chats.")
	w.recorded(t, v, "chat_address.deleted")
	require.Equal(t, 403, w.signedIn(t, models.RoleReviewer).get(at+"/chats/new").status)
}
