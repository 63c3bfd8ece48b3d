package countersign

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/sdk/go/events"
)

// seen is one request that a server received.
type seen struct {
	method, path, key, body string
}

// served returns a client and a function that lists the requests its server has received so far. The server handles
// each attempt with the next of handlers; the last one handles all further attempts. Pauses between attempts are
// appended to pauses instead of being waited for.
func served(t *testing.T, pauses *[]time.Duration, handlers ...http.HandlerFunc) (*Client, func() []seen) {
	t.Helper()
	var (
		mu  sync.Mutex
		got []seen
	)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		got = append(got, seen{r.Method, r.URL.RequestURI(), r.Header.Get("Idempotency-Key"), string(body)})
		next := handlers[min(len(got), len(handlers))-1]
		mu.Unlock()
		next(w, r)
	}))
	t.Cleanup(server.Close)
	c, err := New(server.URL, "sk_test_x")
	require.NoError(t, err)
	c.waits = func(_ context.Context, d time.Duration) error {
		if pauses != nil {
			*pauses = append(*pauses, d)
		}
		return nil
	}
	return c, func() []seen {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(got)
	}
}

func answer(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// subject is a Subject of the contract.
func subject(id string) string {
	return `{"id":"` + id + `","environment":"env_1","status":"active","enrollment":"none","adaptation_frozen":false,"research_consent":false,` +
		`"passkeys":[],"created_at":"2026-11-21T09:30:00.000Z","updated_at":"2026-11-21T09:30:00.000Z","revoked_at":null}`
}

func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func TestRetriesKeepTheIdempotencyKey(t *testing.T) {
	t.Parallel()
	c, got := served(t, nil, hangUp, answer(503, `{"code":"unavailable"}`), answer(201, subject("user-1")))
	made, err := c.CreateSubject(t.Context(), &SubjectCreate{ID: "user-1"})
	require.NoError(t, err)
	require.Equal(t, "user-1", made.ID)
	require.Len(t, got(), 3)
	require.NotEmpty(t, got()[0].key)
	for _, s := range got() {
		require.Equal(t, got()[0], s, "every try is the same request")
	}
}

func TestWhatIsTriedAgain(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	keyed := func(c *Client) error { _, err := c.CreateSubject(ctx, nil); return err }
	read := func(c *Client) error { _, err := c.GetSubject(ctx, "user-1"); return err }
	unkeyed := func(c *Client) error { _, err := c.UpdateAction(ctx, "act_1", ActionUpdate{Name: "x"}); return err }
	decide := func(c *Client) error { _, err := c.Authorize(ctx, AuthorizeRequest{}); return err }
	for name, tc := range map[string]struct {
		call  func(*Client) error
		fails http.HandlerFunc
		tries int
	}{
		"a lost read":                          {read, hangUp, 3},
		"a lost keyed change":                  {keyed, hangUp, 3},
		"a lost decision, keyed by its body":   {decide, hangUp, 3},
		"a lost change without a key":          {unkeyed, hangUp, 1},
		"refused by quota":                     {unkeyed, answer(429, `{"code":"rate_limited"}`, "Retry-After", "2"), 3},
		"unavailable, for any call":            {unkeyed, answer(503, `{"code":"unavailable"}`), 3},
		"unavailable for longer than the wait": {read, answer(503, `{"code":"unavailable"}`, "Retry-After", "3600"), 1},
		"a proxy's bad gateway":                {keyed, answer(502, `<html>`), 3},
		"the same, without a key":              {unkeyed, answer(502, `<html>`), 1},
		"the same key is at work":              {keyed, answer(409, `{"code":"idempotency_in_flight"}`), 3},
		"a conflict":                           {keyed, answer(409, `{"code":"subject_exists"}`), 1},
		"a fault of ours":                      {keyed, answer(422, `{"detail":[{"loc":["body","id"],"msg":"id is too long","type":"string_too_long"}]}`), 1},
		"a portal's page for a read":           {read, answer(200, `<html>`, "Content-Type", "text/html"), 3},
		"the same, without a key, again":       {unkeyed, answer(200, `<html>`, "Content-Type", "text/html"), 1},
		"a firewall's page":                    {read, answer(403, `<html>`, "Content-Type", "text/html"), 1},
		"a redirect":                           {read, answer(302, ``, "Location", "/elsewhere"), 1},
		"a fault of theirs":                    {read, answer(500, `{"code":"internal_error"}`), 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, got := served(t, nil, tc.fails)
			require.Error(t, tc.call(c))
			require.Len(t, got(), tc.tries)
		})
	}
}

func TestRetryAfterIsTheLeastPause(t *testing.T) {
	t.Parallel()
	var pauses []time.Duration
	c, _ := served(t, &pauses, answer(429, `{"code":"rate_limited"}`, "Retry-After", "3"), answer(200, subject("user-1")))
	_, err := c.GetSubject(t.Context(), "user-1")
	require.NoError(t, err)
	require.Equal(t, []time.Duration{3 * time.Second}, pauses)
}

func TestRefusalsAreErrors(t *testing.T) {
	t.Parallel()
	c, _ := served(t, nil, answer(422, `{"detail":[{"loc":["body","proof_ttl_seconds"],"msg":"proof_ttl_seconds must be at most 900","type":"less_than_equal"}]}`, "X-Request-Id", "req_1"))
	_, err := c.CreateAction(t.Context(), ActionCreate{})
	var refused *Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, CodeValidationError, refused.Code)
	require.Equal(t, []Fault{{Loc: []any{"body", "proof_ttl_seconds"}, Msg: "proof_ttl_seconds must be at most 900", Type: "less_than_equal"}}, refused.Faults)
	require.Equal(t, "countersign: validation_error: proof_ttl_seconds must be at most 900 (422, request req_1)", err.Error())

	c, _ = served(t, nil, answer(404, `{"code":"not_found","title":"Not found","detail":"No such resource exists in this environment.","request_id":"req_2"}`))
	_, err = c.GetSubject(t.Context(), "unknown")
	require.True(t, IsCode(err, CodeNotFound))
	require.False(t, Unavailable(err))

	c, _ = served(t, nil, hangUp)
	_, err = c.GetSubject(t.Context(), "unknown")
	require.True(t, Unavailable(err))
}

func TestARateLimitIsNotUnavailability(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		attempts             []http.HandlerFunc
		unavailable, limited bool
	}{
		"by the service":             {[]http.HandlerFunc{answer(429, `{"code":"rate_limited"}`)}, false, true},
		"by a proxy":                 {[]http.HandlerFunc{answer(429, `<html>`)}, false, true},
		"and then no response":       {[]http.HandlerFunc{answer(429, `{"code":"rate_limited"}`), hangUp}, false, true},
		"and then a refusal":         {[]http.HandlerFunc{answer(429, `{"code":"rate_limited"}`), answer(404, `{"code":"not_found"}`)}, false, false},
		"and then an unavailability": {[]http.HandlerFunc{answer(429, `{"code":"rate_limited"}`), answer(503, `{"code":"unavailable"}`)}, true, false},
		"none":                       {[]http.HandlerFunc{hangUp}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := served(t, nil, tc.attempts...)
			_, err := c.GetSubject(t.Context(), "user-1")
			require.Error(t, err)
			require.Equal(t, tc.unavailable, Unavailable(err), "%v", err)
			require.Equal(t, tc.limited, RateLimited(err), "%v", err)
		})
	}
}

func TestADeadlineEndsTheCall(t *testing.T) {
	t.Parallel()
	var pauses []time.Duration
	c, _ := served(t, &pauses, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	WithTimeout(20 * time.Millisecond)(c)
	_, err := c.GetSubject(t.Context(), "user-1")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.True(t, Unavailable(err))
	require.Len(t, pauses, 2, "a try that took too long is a lost one, and there are three")
}

func TestPathsAndQueriesAreEscaped(t *testing.T) {
	t.Parallel()
	c, got := served(t, nil, answer(200, `[]`))
	_, err := c.ListEnrollments(t.Context(), "../actions?x=1#", ListEnrollmentsParams{Limit: 10, Cursor: "a=b&c"})
	require.NoError(t, err)
	require.Equal(t, "/api/v1/subjects/..%2Factions%3Fx=1%23/enrollments?cursor=a%3Db%26c&limit=10", got()[0].path)
}

func TestPagesAreFollowedToTheLast(t *testing.T) {
	t.Parallel()
	c, got := served(t, nil,
		answer(200, "["+subject("a")+","+subject("b")+"]", "Link", `<https://elsewhere.example/api/v1/subjects?limit=2&cursor=two>; rel="next"`),
		answer(200, "["+subject("c")+"]"))
	var ids []string
	for subject, err := range c.AllSubjects(t.Context(), ListSubjectsParams{Limit: 2, Status: "active"}) {
		require.NoError(t, err)
		ids = append(ids, subject.ID)
	}
	require.Equal(t, []string{"a", "b", "c"}, ids)
	require.Equal(t, "/api/v1/subjects?cursor=two&limit=2&status=active", got()[1].path, "the key goes to no other host")
}

func TestNothingIsSentThatWasNotSet(t *testing.T) {
	t.Parallel()
	body, err := json.Marshal(AuthorizeRequest{Subject: "user-1", Action: "payments.transfer", Resource: Resource{Type: "account", ID: "a"}, Audience: "x"})
	require.NoError(t, err)
	require.JSONEq(t, `{"subject":"user-1","action":"payments.transfer","resource":{"type":"account","id":"a"},"audience":"x","requested_at":0,"nonce":"","idempotency_key":""}`, string(body))
	body, err = json.Marshal(PolicyVersionCreate{AllowedCallers: []string{}})
	require.NoError(t, err)
	require.Contains(t, string(body), `"allowed_callers":[]`, "an empty list is said, nil is not")
}

func TestAWrongClientIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	for _, tc := range [][2]string{{"countersign.example", "sk_test_x"}, {"ftp://countersign.example", "sk_test_x"}, {"https://countersign.example", "secret"}} {
		_, err := New(tc[0], tc[1])
		require.ErrorContains(t, err, "countersign: ")
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	c, got := served(t, nil, answer(307, ``, "Location", "/elsewhere"))
	_, err := c.GetSubject(t.Context(), "user-1")
	var garbled *ProtocolError
	require.ErrorAs(t, err, &garbled)
	require.Equal(t, 307, garbled.Status)
	require.Len(t, got(), 1)
}

func TestStreamsAreRead(t *testing.T) {
	t.Parallel()
	text := "id: pos_1\nretry: 2000\n\nid: evt_1\nevent: hold.opened\ndata: {\"id\":\ndata: \"evt_1\",\"data\":{\"risk_class\":\"high\"}}\n\n: heartbeat\n\nid: evt_2\nevent: resync\ndata: {}\n\nid: evt_3\nevent: half"
	var streamed []StreamedEvent
	last, err := readStream(strings.NewReader(text), "", func(e StreamedEvent) bool { streamed = append(streamed, e); return true })
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Equal(t, "evt_2", last, "not that of an incomplete message")
	require.Len(t, streamed, 2)
	require.Equal(t, "evt_1", streamed[0].ID)
	require.JSONEq(t, `{"id":"evt_1","data":{"risk_class":"high"}}`, string(streamed[0].Data))
	payload, err := streamed[0].Payload()
	require.NoError(t, err)
	require.Equal(t, &events.HoldOpened{RiskClass: "high"}, payload)
	require.True(t, streamed[1].Resync)
	_, err = streamed[1].Payload()
	require.Error(t, err)
}

func TestStreamsEndWithTheIDToResumeWith(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		response http.HandlerFunc
		want     string
	}{
		"an end before the first event": {answer(200, "id: pos_1\nretry: 2000\n\n", "Content-Type", "text/event-stream"), "pos_1"},
		"an end in the first message":   {answer(200, "id: pos_1\nretry: 2", "Content-Type", "text/event-stream"), "evt_0"},
		"a position behind the last":    {answer(200, "id: evt_1\nevent: hold.opened\ndata: {}\n\nid: pos_2\nretry: 2000\n\n", "Content-Type", "text/event-stream"), "pos_2"},
		"no id":                         {answer(200, "retry: 2000\n\n", "Content-Type", "text/event-stream"), "evt_0"},
		"a refusal":                     {answer(503, `{"code":"unavailable"}`), "evt_0"},
		"no response":                   {hangUp, "evt_0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := served(t, nil, tc.response)
			last := StreamedEvent{}
			for e, err := range c.StreamEvents(t.Context(), StreamParams{LastEventID: "evt_0"}) {
				require.True(t, err != nil || e.Type != "")
				last = e
			}
			require.Equal(t, tc.want, last.ID)
		})
	}
}

// A change that waits for a second approver is an error, never half a result.
func TestChangeThatWaitsIsAnError(t *testing.T) {
	t.Parallel()
	waiting := `{"id":"chg_1","kind":"policy.activate","status":"pending","action_id":"act_1","action":"payments.transfer","policy_version":2,"team":null,"endpoint":null,"list":null,` +
		`"differences":[{"field":"requirements.coverage_min","before":"partial","after":null}],"requested_by":"credential:crd_1",` +
		`"requested_at":"2026-11-21T09:30:00.000Z","expires_at":"2026-11-22T09:30:00.000Z","resolved_by":null,"resolved_at":null,` +
		`"reason":"","resolution_reason":"","approvable":false,"applies":null,"simulation":null}`
	c, got := served(t, nil, answer(202, waiting), answer(200, waiting))
	_, err := c.ActivatePolicyVersion(t.Context(), "act_1", 2)
	var waits *ApprovalRequiredError
	require.ErrorAs(t, err, &waits)
	require.Equal(t, "chg_1", waits.Change.ID)
	require.ErrorContains(t, err, "approve chg_1 (ApproveChange) before 2026-11-22T09:30:00Z")
	require.Len(t, got(), 1, "it is not tried again")
	approved, err := c.ApproveChange(t.Context(), "chg_1", nil)
	require.NoError(t, err)
	require.Equal(t, "partial", approved.Differences[0].Before)
}
