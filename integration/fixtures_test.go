package integration_test

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/integration/apitest"
	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
	"github.com/countersign-dev/countersign/models"
)

// object is a JSON object.
type object = apitest.Object

// audience is the audience of proofs in most tests.
const audience = apitest.Audience

var (
	unique  = apitest.Unique
	typist  = apitest.Typist
	request = apitest.AuthorizeRequest
)

// action creates an action with an active policy in the mode, and returns its id and its key.
func (w world) action(t testing.TB, mode string, requirements object) (id, key string) {
	t.Helper()
	return w.Server.relyingParty().CreateAction(t, apitest.Action{
		Mode: mode, Name: "Release a payment", Consequence: "Money leaves the account.", Requirements: requirements,
	})
}

// The policies by which a subject without evidence gets each decision.
var (
	allowing    = object{"coverage_min": "none"}
	challenging = object{"coverage_min": "partial", "insufficient_evidence": "challenge"}
	holding     = object{"coverage_min": "partial", "insufficient_evidence": "hold"}
	denying     = object{"coverage_min": "partial", "insufficient_evidence": "deny"}
)

// subject creates a subject.
func (w world) subject(t testing.TB) string {
	t.Helper()
	return w.Server.relyingParty().CreateSubject(t)
}

// authorize requests a decision and requires it to be the given one.
func (w world) authorize(t testing.TB, subject, action, decision string) response {
	t.Helper()
	r := w.Server.relyingParty().Authorize(t, subject, action)
	a := response{t: t, status: r.Status, header: r.Header, body: r.Body}
	require.Equal(t, decision, a.string("decision"), "response: %s", a.body)
	return a
}

const (
	frameKeys = 50
	frameMS   = 20_000
)

// session creates a session and submits frames of the typist as if they had just been typed.
func (w world) session(t testing.TB, subject, purpose string, who *synthetic.Typist, frames int) string {
	t.Helper()
	return w.Server.relyingParty().ObserveSession(t, subject, apitest.Observation{Typist: who, Purpose: purpose, Frames: frames, Keys: frameKeys})
}

// evidence is the body of the nth frame of a session that began at start.
func evidence(who *synthetic.Typist, purpose string, start time.Time, n int) object {
	return apitest.Evidence(who, frameKeys, purpose, start, n)
}

// enrolled creates a subject and enrolls the typist as it.
func (w world) enrolled(t testing.TB, who *synthetic.Typist) string {
	t.Helper()
	return w.Server.relyingParty().Enroll(t, who, frameKeys)
}

// count returns the number that a query selects.
func count(t *testing.T, query string, args ...any) int {
	t.Helper()
	var n int
	require.NoError(t, shared.Store.Pool().QueryRow(t.Context(), query, args...).Scan(&n))
	return n
}

func with(requirements object, more object) object {
	out := object{}
	for _, o := range []object{requirements, more} {
		for k, v := range o {
			out[k] = v
		}
	}
	return out
}

// reviewer is another server credential of the environment.
func (w world) reviewer(t *testing.T) caller {
	t.Helper()
	return caller{base: w.Server.base, key: w.issue(t, models.ScopeServer, nil)}
}

// cautious is a policy that allows the enrolled typist, holds others and challenges subjects without evidence.
var cautious = object{
	"claims": object{"operator_continuity": "likely"}, "coverage_min": "partial", "freshness_max_ms": 3_600_000,
	"hold_on": []string{"continuity_mismatch", "continuity_recent_mismatch"},
}

func claim(claims any, name string) string {
	list, _ := claims.([]any)
	for _, c := range list {
		if o, ok := c.(object); ok && o["claim"] == name {
			s, _ := o["status"].(string)
			return s
		}
	}
	return ""
}

// claimReasons returns the reason codes of one claim of a profile.
func claimReasons(claims any, name string) []any {
	list, _ := claims.([]any)
	for _, c := range list {
		if o, ok := c.(object); ok && o["claim"] == name {
			codes, _ := o["reason_codes"].([]any)
			return codes
		}
	}
	return nil
}

// pinned is a valid AuthorizeRequest that names the session.
func pinned(subject, action, session string) object {
	return with(request(subject, action), object{"session": session})
}

// syncBuffer collects what a process writes while a test reads it.
type syncBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
