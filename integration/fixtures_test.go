package integration_test

import (
	"crypto/rand"
	"fmt"
	"hash/fnv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
)

// object is a JSON object.
type object = map[string]any

// audience is who proofs are for in most tests.
const audience = "payments"

// unique is a short word that no other call returns.
func unique() string { return strings.ToLower(rand.Text()[:12]) }

// action makes an action with an active policy and puts it into mode; its id and key are returned.
func (w world) action(t testing.TB, mode string, requirements object) (id, key string) {
	t.Helper()
	key = "payment.release_" + unique()
	id = w.Server.post(t, "/api/v1/actions", object{
		"key": key, "name": "Release a payment", "consequence": "Money leaves the account.", "allowed_audiences": []string{audience},
	}).is(201).string("id")
	w.Server.post(t, "/api/v1/actions/"+id+"/policy-versions", object{"requirements": requirements}).is(201)
	w.Server.post(t, "/api/v1/actions/"+id+"/policy-versions/1/activate", nil).is(200)
	if mode != "test" {
		w.Server.patch(t, "/api/v1/actions/"+id, object{"mode": mode}).is(200)
	}
	return id, key
}

// The policies by which a subject without evidence gets each decision.
var (
	allowing    = object{"coverage_min": "none"}
	challenging = object{"coverage_min": "partial", "insufficient_evidence": "challenge"}
	holding     = object{"coverage_min": "partial", "insufficient_evidence": "hold"}
	denying     = object{"coverage_min": "partial", "insufficient_evidence": "deny"}
)

// subject makes a subject.
func (w world) subject(t testing.TB) string {
	t.Helper()
	return w.Server.post(t, "/api/v1/subjects", object{"id": "person-" + unique()}).is(201).string("id")
}

// request is a good AuthorizeRequest.
func request(subject, action string) object {
	return object{
		"subject": subject, "action": action, "resource": object{"type": "resource", "id": "payment-" + unique()},
		"audience": audience, "requested_at": now(), "nonce": rand.Text(), "idempotency_key": rand.Text(),
	}
}

// authorize asks and requires the decision.
func (w world) authorize(t testing.TB, subject, action, decision string) answer {
	t.Helper()
	a := w.Server.post(t, "/api/v1/authorize", request(subject, action)).is(200)
	require.Equal(t, decision, a.string("decision"), "answered: %s", a.body)
	return a
}

// typist is a made-up person; the name is the seed.
func typist(name string) *synthetic.Typist {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return synthetic.NewTypist(h.Sum64())
}

const (
	frameKeys = 50
	frameMS   = 20_000
)

// session opens a session and sends frames of the typist as if they had just been typed.
func (w world) session(t testing.TB, subject, purpose string, who *synthetic.Typist, frames int) string {
	t.Helper()
	id := w.Server.post(t, "/api/v1/sessions", object{"subject": subject, "device_class": "desktop"}).is(201).string("id")
	start := time.Now().Add(-time.Duration(frames) * frameMS * time.Millisecond)
	for n := range frames {
		w.Server.post(t, "/api/v1/sessions/"+id+"/evidence", evidence(who, purpose, start, n)).is(200)
	}
	return id
}

// evidence is the nth frame of a session that began at start.
func evidence(who *synthetic.Typist, purpose string, start time.Time, n int) object {
	at := start.Add(time.Duration(n+1) * frameMS * time.Millisecond)
	return object{
		"frame_id": fmt.Sprintf("frame-%d", n), "timestamp": float64(at.UnixMilli()) / 1000, "duration_ms": frameMS - 500,
		"features": who.Frame(frameKeys), "purpose": purpose,
	}
}

// enrolled makes a subject that the typist is enrolled as.
func (w world) enrolled(t testing.TB, who *synthetic.Typist) string {
	t.Helper()
	subject := w.subject(t)
	var last string
	for range 3 {
		last = w.session(t, subject, "enroll", who, 4)
		who.NewDay()
	}
	done := w.Server.post(t, "/api/v1/subjects/"+subject+"/enrollments/complete", object{"session": last}).is(200)
	require.Equal(t, "completed", done.string("status"), "answered: %s", done.body)
	return subject
}
