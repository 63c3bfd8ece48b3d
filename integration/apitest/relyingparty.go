package apitest

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// RelyingParty makes the calls of a normal relying party through sdk/go. A call that fails ends its test.
type RelyingParty struct {
	Base, Key string
	Observe   func(t testing.TB, r Response) // sees every response; nil for none
}

// Action describes an action and its policy.
type Action struct {
	Mode, Name, Consequence string
	Requirements            Object
}

// transport keeps the last response that passes through it.
type transport struct{ last Response }

func (k *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := Client.Transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	k.last = Response{Method: req.Method, Path: req.URL.Path, Status: res.StatusCode, Header: res.Header, Body: body}
	return res, nil
}

// Call makes one call through sdk/go and returns its response as it was sent.
func (p RelyingParty) Call(t testing.TB, call func(c *countersign.Client) error) Response {
	t.Helper()
	k := &transport{}
	c, err := countersign.New(p.Base, p.Key, countersign.WithHTTPClient(&http.Client{Transport: k}), countersign.WithTimeout(patience))
	require.NoError(t, err)
	require.NoError(t, call(c))
	if p.Observe != nil {
		p.Observe(t, k.last)
	}
	return k.last
}

// decoded converts a JSON object to a request body of sdk/go.
func decoded[T any](t testing.TB, from any) T {
	t.Helper()
	var to T
	text, err := json.Marshal(from)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &to))
	return to
}

// CreateAction creates an action with an active policy and sets its mode.
func (p RelyingParty) CreateAction(t testing.TB, a Action) (id, key string) {
	t.Helper()
	p.Call(t, func(c *countersign.Client) error {
		made, err := c.CreateAction(t.Context(), countersign.ActionCreate{
			Key: "payment.release_" + Unique(), Name: a.Name, Consequence: a.Consequence, AllowedAudiences: []string{Audience},
		})
		if err == nil {
			id, key = made.ID, made.Key
		}
		return err
	})
	version := decoded[countersign.PolicyVersionCreate](t, Object{"requirements": a.Requirements})
	p.Call(t, func(c *countersign.Client) error {
		_, err := c.CreatePolicyVersion(t.Context(), id, version)
		return err
	})
	p.Call(t, func(c *countersign.Client) error {
		_, err := c.ActivatePolicyVersion(t.Context(), id, 1)
		return err
	})
	if a.Mode != "test" {
		p.Call(t, func(c *countersign.Client) error {
			_, err := c.UpdateAction(t.Context(), id, decoded[countersign.ActionUpdate](t, Object{"mode": a.Mode}))
			return err
		})
	}
	return id, key
}

// CreateSubject creates a subject and returns its id.
func (p RelyingParty) CreateSubject(t testing.TB) string {
	t.Helper()
	id := "person-" + Unique()
	p.Call(t, func(c *countersign.Client) error {
		body := decoded[countersign.SubjectCreate](t, Object{"id": id})
		_, err := c.CreateSubject(t.Context(), &body)
		return err
	})
	return id
}

// AuthorizeRequest is a valid request for a decision.
func AuthorizeRequest(subject, action string) Object {
	return Object{
		"subject": subject, "action": action, "resource": Object{"type": "resource", "id": "payment-" + Unique()},
		"audience": Audience, "requested_at": clock.System().Now().Unix(), "nonce": rand.Text(), "idempotency_key": rand.Text(),
	}
}

// Authorize requests a decision.
func (p RelyingParty) Authorize(t testing.TB, subject, action string) Response {
	t.Helper()
	body := decoded[countersign.AuthorizeRequest](t, AuthorizeRequest(subject, action))
	return p.Call(t, func(c *countersign.Client) error {
		_, err := c.Authorize(t.Context(), body)
		return err
	})
}

// CreateSession creates a session of a desktop.
func (p RelyingParty) CreateSession(t testing.TB, subject string) (id string) {
	t.Helper()
	p.Call(t, func(c *countersign.Client) error {
		made, err := c.CreateSession(t.Context(), countersign.SessionCreate{Subject: subject, DeviceClass: "desktop"})
		if err == nil {
			id = made.ID
		}
		return err
	})
	return id
}

// Observation is a session of frames that a synthetic typist has just typed.
type Observation struct {
	Typist       *synthetic.Typist
	Purpose      string
	Frames, Keys int // Keys are those of each frame
}

// ObserveSession creates a session and submits its evidence. It returns the session's id.
func (p RelyingParty) ObserveSession(t testing.TB, subject string, o Observation) string {
	t.Helper()
	id := p.CreateSession(t, subject)
	start := clock.System().Now().Add(-time.Duration(o.Frames) * Frame)
	for n := range o.Frames {
		body := decoded[countersign.FeatureFrameRequest](t, Evidence(o.Typist, o.Keys, o.Purpose, start, n))
		p.Call(t, func(c *countersign.Client) error {
			_, err := c.SubmitEvidence(t.Context(), id, body)
			return err
		})
	}
	return id
}

// Enroll creates a subject and enrolls the typist in three sessions of four frames. It returns the subject's id.
func (p RelyingParty) Enroll(t testing.TB, who *synthetic.Typist, keys int) string {
	t.Helper()
	subject, last := p.CreateSubject(t), ""
	for range 3 {
		last = p.ObserveSession(t, subject, Observation{Typist: who, Purpose: "enroll", Frames: 4, Keys: keys})
		who.NewDay()
	}
	require.Eventually(t, func() bool {
		var status string
		p.Call(t, func(c *countersign.Client) error {
			done, err := c.CompleteEnrollment(t.Context(), subject, countersign.EnrollmentComplete{Session: last})
			if err == nil {
				status = done.Status
			}
			return err
		})
		return status == "completed"
	}, patience, 50*time.Millisecond, "the enrollment completes")
	return subject
}
