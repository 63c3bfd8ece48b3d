package bench

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
	"github.com/countersign-dev/countersign/internal/bench/harness"
)

// object is a JSON object.
type object = map[string]any

// audience is who proofs are for.
const audience = "payments"

// action makes an action in enforce mode with an active policy.
func action(c *harness.Client, key string, requirements object) error {
	var made struct{ ID string }
	if err := c.Want(http.StatusCreated, "POST", "/api/v1/actions", object{
		"key": key, "name": "Release a payment", "consequence": "Money leaves the account.", "allowed_audiences": []string{audience},
	}, &made); err != nil {
		return err
	}
	at := "/api/v1/actions/" + made.ID
	if err := c.Want(http.StatusCreated, "POST", at+"/policy-versions", object{"requirements": requirements}, nil); err != nil {
		return err
	}
	if err := c.Want(http.StatusOK, "POST", at+"/policy-versions/1/activate", nil, nil); err != nil {
		return err
	}
	return c.Want(http.StatusOK, "PATCH", at, object{"mode": "enforce"}, nil)
}

// several runs f for each number below n, eight at a time.
func several(ctx context.Context, n int, f func(i int) error) error {
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
	typist  *synthetic.Typist
}

// people makes subjects that have typed a little. Enrolled ones are told from others by what they type.
func people(ctx context.Context, c *harness.Client, n int, enrolled bool) ([]person, error) {
	all := make([]person, n)
	err := several(ctx, n, func(i int) error {
		p := person{subject: fmt.Sprintf("person-%d", i), typist: synthetic.NewTypist(uint64(i))}
		if err := c.Want(http.StatusCreated, "POST", "/api/v1/subjects", object{"id": p.subject}, nil); err != nil {
			return err
		}
		if enrolled {
			if err := enrol(c, p); err != nil {
				return err
			}
		}
		var err error
		p.session, err = typed(c, p, "score", 3)
		all[i] = p
		return err
	})
	return all, err
}

// enrol has a person type on three days and learns the template of it.
func enrol(c *harness.Client, p person) error {
	last := ""
	for range 3 {
		var err error
		if last, err = typed(c, p, "enroll", 4); err != nil {
			return err
		}
		p.typist.NewDay()
	}
	return c.Want(http.StatusOK, "POST", "/api/v1/subjects/"+p.subject+"/enrollments/complete", object{"session": last}, nil)
}

// typed opens a session and sends frames.
func typed(c *harness.Client, p person, purpose string, frames int) (string, error) {
	id, err := openSession(c, p.subject)
	if err != nil {
		return "", err
	}
	start := time.Now().Add(-time.Duration(frames) * frameLasts)
	for n := range frames {
		text, err := json.Marshal(p.typist.Frame(frameKeys))
		if err != nil {
			return "", err
		}
		if err := c.Want(http.StatusOK, "POST", "/api/v1/sessions/"+id+"/evidence", frame(text, purpose, start, n), nil); err != nil {
			return "", err
		}
	}
	return id, nil
}

func openSession(c *harness.Client, subject string) (string, error) {
	var made struct{ ID string }
	err := c.Want(http.StatusCreated, "POST", "/api/v1/sessions", object{"subject": subject, "device_class": "desktop"}, &made)
	return made.ID, err
}

const (
	frameKeys  = 50
	frameLasts = 40 * time.Second // more than the slowest of the simulated people take
)

// frame is the body of the nth frame of a session that began at start.
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

// asking makes bodies of AuthorizeRequest.
type asking struct {
	action  string
	subject func(i int) string
	counter atomic.Int64
}

func newAsking(action string, subject func(i int) string) *asking {
	return &asking{action: action, subject: subject}
}

// next is for the next of the people.
func (a *asking) next() []byte { return a.body(int(a.counter.Add(1))) }

func (a *asking) body(i int) []byte {
	b := append([]byte(`{"subject":"`), a.subject(i)...)
	b = append(b, `","action":"`+a.action+`","resource":{"type":"resource","id":"payment-`...)
	b = strconv.AppendInt(b, int64(i), 10)
	b = append(b, `"},"audience":"`+audience+`","requested_at":`...)
	b = strconv.AppendInt(b, time.Now().Unix(), 10)
	b = append(b, `,"nonce":"`...)
	b = append(b, rand.Text()...)
	b = append(b, `","idempotency_key":"`...)
	b = append(b, rand.Text()...)
	return append(b, `","context":{"amount":"1250.00","currency":"EUR"}}`...)
}
