package integration_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// recorder submits frames in one environment, each with its own id and time.
type recorder struct {
	world
	mu sync.Mutex
	n  int
	at time.Time
}

func newRecorder(t *testing.T) *recorder {
	t.Helper()
	return &recorder{world: newSandbox(t), at: time.Now().Add(-24 * time.Hour)}
}

func (r *recorder) open(t testing.TB, subject string) string {
	t.Helper()
	return r.Server.post(t, "/api/v1/sessions", object{"subject": subject, "device_class": "desktop"}).is(201).string("id")
}

func (r *recorder) send(t testing.TB, session, purpose string, f features.Frame) response {
	t.Helper()
	r.mu.Lock()
	r.n++
	n := r.n
	r.mu.Unlock()
	return r.Server.post(t, "/api/v1/sessions/"+session+"/evidence", object{
		"frame_id": fmt.Sprint("frame-", n), "timestamp": float64(r.at.Add(time.Duration(n) * time.Minute).Unix()),
		"duration_ms": 59_000, "features": f, "purpose": purpose,
	}).is(200)
}

// again submits a frame with the id and the time of the previous one.
func (r *recorder) again(t testing.TB, session, purpose string, f features.Frame) response {
	t.Helper()
	r.mu.Lock()
	r.n--
	r.mu.Unlock()
	return r.send(t, session, purpose, f)
}

func (r *recorder) claim(t testing.TB, session, name string) string {
	t.Helper()
	return claim(r.Server.get(t, "/api/v1/sessions/"+session+"/assessment").is(200).value("claims"), name)
}

func extracted(keys []features.KeyEvent) features.Frame {
	return features.Extract(features.Raw{Keys: keys, ClockMS: 1})
}

// jittered is a copy of a recording in which each press and release is moved by a random error of ms standard deviation.
func jittered(keys []features.KeyEvent, ms float64) []features.KeyEvent {
	rng := rand.New(rand.NewPCG(3, 4))
	out := make([]features.KeyEvent, len(keys))
	for i, k := range keys {
		k.Press, k.Release = k.Press+ms*rng.NormFloat64(), k.Release+ms*rng.NormFloat64()
		k.Release = max(k.Release, k.Press+1)
		out[i] = k
	}
	slices.SortStableFunc(out, func(a, b features.KeyEvent) int { return int(a.Press*1000) - int(b.Press*1000) })
	return out
}
