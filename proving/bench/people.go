package bench

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
	"github.com/countersign-dev/countersign/proving/harness"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// object is a JSON object.
type object = map[string]any

// parallel calls f for each number below n, eight calls at a time, and returns the first error.
func parallel(ctx context.Context, n int, f func(i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	for i := range n {
		g.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return f(i)
		})
	}
	return g.Wait()
}

// person is a subject with a session whose evidence is fresh.
type person struct {
	subject string
	session string
	typist  typist
}

// typist is a generated person who types: of this build, or of the one that
// this is compared with.
type typist interface {
	frame(keys int) ([]byte, error) // features as JSON
	newDay() error
}

// ownTypist is of this build, and generated in this process: the load
// generator prepares frames before it measures.
type ownTypist struct{ *synthetic.Typist }

func (t ownTypist) frame(keys int) ([]byte, error) { return json.Marshal(t.Frame(keys)) }

func (t ownTypist) newDay() error {
	t.NewDay()
	return nil
}

// otherTypist is of another build, whose collector may know other features:
// a service rejects what it does not know.
type otherTypist struct {
	all    *harness.Typists
	person uint64
}

func (t otherTypist) frame(keys int) ([]byte, error) { return t.all.Frame(t.person, keys) }
func (t otherTypist) newDay() error                  { return t.all.NewDay(t.person) }

// newTypist returns the ith person of the build that b measures.
func (b *bench) newTypist(i int) typist {
	if b.typists != nil {
		return otherTypist{b.typists, uint64(i)} // #nosec G115 -- an index
	}
	return ownTypist{synthetic.NewTypist(uint64(i))} // #nosec G115 -- an index
}

// people creates n subjects, each with a session and a few frames of evidence. Enrolled ones have a template, so that their
// frames are scored; without one a frame is only stored.
func (b *bench) people(ctx context.Context, n int, enrolled bool) ([]person, error) {
	all := make([]person, n)
	err := parallel(ctx, n, func(i int) error {
		p := person{subject: fmt.Sprintf("person-%d", i), typist: b.newTypist(i)}
		if _, err := b.sdk.CreateSubject(ctx, &countersign.SubjectCreate{ID: p.subject}); err != nil {
			return err
		}
		if enrolled {
			if err := b.enroll(ctx, p); err != nil {
				return err
			}
		}
		var err error
		p.session, err = b.typeFrames(ctx, p, "score", 3)
		all[i] = p
		return err
	})
	return all, err
}

// enroll lets a person type on three simulated days and completes the enrollment.
func (b *bench) enroll(ctx context.Context, p person) error {
	last := ""
	for range 3 {
		var err error
		if last, err = b.typeFrames(ctx, p, "enroll", 4); err != nil {
			return err
		}
		if err := p.typist.newDay(); err != nil {
			return err
		}
	}
	_, err := b.sdk.CompleteEnrollment(ctx, p.subject, countersign.EnrollmentComplete{Session: last})
	return err
}

// typeFrames opens a session, sends frames that end now, and returns the session's id.
func (b *bench) typeFrames(ctx context.Context, p person, purpose string, frames int) (string, error) {
	id, err := harness.NewSession(ctx, b.sdk, p.subject)
	if err != nil {
		return "", err
	}
	start := time.Now().Add(-time.Duration(frames) * frameLasts)
	for n := range frames {
		text, err := p.typist.frame(frameKeys)
		if err != nil {
			return "", err
		}
		if err := b.server.DoOK("POST", "/api/v1/sessions/"+id+"/evidence", frame(text, purpose, start, n), nil); err != nil {
			return "", err
		}
	}
	return id, nil
}

const (
	frameKeys  = 50
	frameLasts = 40 * time.Second // more than the slowest simulated typist takes for frameKeys
)

// frame builds the body of the nth frame of a session that began at start. It appends bytes, because it runs once per request
// of a load that shares its cores with the service.
func frame(features []byte, purpose string, start time.Time, n int) []byte {
	at := start.Add(time.Duration(n+1) * frameLasts).UnixMilli()
	b := append([]byte(`{"frame_id":"`), rand.Text()...)
	b = append(b, `","timestamp":`...)
	b = strconv.AppendFloat(b, float64(at)/1000, 'f', 3, 64)
	b = append(b, `,"duration_ms":`...)
	b = strconv.AppendInt(b, frameLasts.Milliseconds()-500, 10)
	b = append(b, `,"purpose":"`+purpose+`","features":`...)
	b = append(b, features...)
	return append(b, '}')
}

// requests builds the bodies of authorize requests for one action.
type requests struct {
	action  string
	subject func(i int) string
	// resource is that of every request; empty for one of its own for each.
	resource string
	counter  atomic.Int64
}

// newRequests returns bodies for the action; subject returns the subject of
// the ith one.
func newRequests(action string, subject func(i int) string) *requests {
	return &requests{action: action, subject: subject}
}

// next builds the body for the next subject in turn.
func (a *requests) next() []byte { return a.body(int(a.counter.Add(1))) }

// body builds the ith body with a fresh nonce and idempotency key, so that
// each request is decided.
func (a *requests) body(i int) []byte {
	b := append([]byte(`{"subject":"`), a.subject(i)...)
	b = append(b, `","action":"`+a.action+`","resource":{"type":"resource","id":"`...)
	if a.resource != "" {
		b = append(b, a.resource...)
	} else {
		b = strconv.AppendInt(append(b, "payment-"...), int64(i), 10)
	}
	b = append(b, `"},"audience":"`+harness.Audience+`","requested_at":`...)
	b = strconv.AppendInt(b, time.Now().Unix(), 10)
	b = append(b, `,"nonce":"`...)
	b = append(b, rand.Text()...)
	b = append(b, `","idempotency_key":"`...)
	b = append(b, rand.Text()...)
	return append(b, `","context":{"amount":"1250.00","currency":"EUR"}}`...)
}
