package chaos

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	random "math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/proving/harness"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// object is a JSON object.
type object = map[string]any

const (
	patience = 4 * time.Second // of a client for one answer
	people   = 12
	// insist is how long a client repeats a request without a response.
	insist = 25 * time.Second
)

// policies are the actions, named for the decision that they lead to.
var policies = map[string]countersign.PolicyRequirements{
	"allow":     {CoverageMin: "none"},
	"challenge": {CoverageMin: "partial", InsufficientEvidence: "challenge"},
	"hold":      {CoverageMin: "partial", InsufficientEvidence: "hold"},
}

// client does what a relying party does, over and over, and records every
// response in the journal.
type client struct {
	journal  *Journal
	http     *harness.RawClient
	rng      *random.Rand
	sessions []string
	frames   [][]byte // feature texts
	sent     int
	// deadline is how long the service may take for a response, if the service itself is never killed; 0 is not checked.
	deadline time.Duration
	// renews makes the client start a new session in place of a closed one: sessions end while a clock is hours ahead.
	renews bool
	// decides makes the client request decisions only: the others may all wait for workflows when decisions are back.
	decides bool
}

// run works until ctx ends. Each piece of work is finished, or given up
// after insist.
func (c *client) run(ctx context.Context) {
	for ctx.Err() == nil {
		kind := c.rng.IntN(10)
		if c.decides {
			kind = 0
		}
		switch kind {
		case 0, 1, 2, 3:
			c.allow()
		case 4, 5:
			c.challenge()
		case 6, 7:
			c.hold()
		default:
			c.evidence()
		}
		pause(ctx, time.Duration(c.rng.IntN(40))*time.Millisecond)
	}
}

// persist repeats a request until its response is anything but 503. It
// reports false if there was none within insist. It counts each response; a
// 5xx other than 503 with Retry-After is a violation.
func (c *client) persist(method, path string, body any) (harness.Response, bool) {
	for give := time.Now().Add(insist); time.Now().Before(give); {
		sent := time.Now()
		a, err := c.http.Do(method, path, body)
		c.timed(path, a, err, time.Since(sent))
		switch {
		case err != nil: // no answer: nothing is known
		case a.Status == http.StatusServiceUnavailable:
			c.journal.countResponse(a.Status)
			if a.RetryAfter == "" {
				c.journal.odd("%s %s returned status 503 without Retry-After: %s", method, path, a.Body)
			}
		case a.Status >= 500:
			c.journal.countResponse(a.Status)
			c.journal.odd("%s %s returned status %d: %s", method, path, a.Status, a.Body)
		default:
			c.journal.countResponse(a.Status)
			return a, true
		}
		<-time.After(time.Duration(50+random.IntN(250)) * time.Millisecond)
	}
	c.journal.countResponse(0)
	return harness.Response{}, false
}

// timed records when a decision was received and how long a request took. Without a response in time the service broke its
// deadline.
func (c *client) timed(path string, a harness.Response, err error, took time.Duration) {
	c.journal.timed(took, path == authorizePath && err == nil && a.Status == http.StatusOK)
	if c.deadline > 0 && (err != nil || took > c.deadline) {
		c.journal.odd("%s took %s (%v), longer than %s", path, took.Round(time.Millisecond), err, c.deadline)
	}
}

// authorizePath is where decisions are requested.
const authorizePath = "/api/v1/authorize"

// authorization has the fields of an AuthorizeResponse that clients read.
type authorization struct {
	ID        string
	Decision  string
	Proof     string
	ProofID   string `json:"proof_id"`
	Challenge *struct{ ID string }
}

// question builds the body of an authorize request that leads to the wanted
// decision.
func question(subject, want string) object {
	key := rand.Text()
	return object{
		"subject": subject, "action": "payment." + want, "resource": object{"type": "resource", "id": "r-" + key},
		"audience": harness.Audience, "requested_at": time.Now().Unix(), "nonce": rand.Text(), "idempotency_key": key,
	}
}

// decidedAtOnce sends one request without a retry and reports whether it
// was decided.
func (c *client) decidedAtOnce() bool {
	body := question(fmt.Sprintf("person-%d", c.rng.IntN(people)), "allow")
	asked, got := Asked{Key: body["idempotency_key"].(string), Sent: time.Now(), Want: "allow"}, authorization{}
	a, err := c.http.Do("POST", authorizePath, body)
	if decided := err == nil && a.Status == http.StatusOK && json.Unmarshal(a.Body, &got) == nil; decided {
		asked.Answer, asked.ID, asked.Decision, asked.ProofID = string(a.Body), got.ID, got.Decision, got.ProofID
	}
	c.journal.countResponse(a.Status)
	c.journal.write(func() { c.journal.Asked = append(c.journal.Asked, asked) })
	return asked.Answer != ""
}

// authorize sends a request, and now and then the same request twice at
// once: both responses must be equal.
func (c *client) authorize(want string) (authorization, bool) {
	body := question(fmt.Sprintf("person-%d", c.rng.IntN(people)), want)
	key := body["idempotency_key"].(string)
	n := 1
	if c.rng.IntN(4) == 0 {
		n = 2
	}
	asked, got := Asked{Key: key, Sent: time.Now(), Want: want}, authorization{}
	answers := make([]harness.Response, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { answers[i], _ = c.persist("POST", authorizePath, body) })
	}
	all.Wait()
	for _, a := range answers {
		switch {
		case a.Status == 0:
		case a.Status != http.StatusOK:
			c.journal.refused("authorize", a.Status, a.Body)
		case asked.Answer != "" && asked.Answer != string(a.Body):
			c.journal.odd("the key %s got two responses", key)
		case json.Unmarshal(a.Body, &got) != nil:
			c.journal.odd("authorize returned %q", a.Body)
		default:
			asked.Answer, asked.ID, asked.Decision, asked.ProofID = string(a.Body), got.ID, got.Decision, got.ProofID
		}
	}
	c.journal.write(func() { c.journal.Asked = append(c.journal.Asked, asked) })
	return got, asked.Answer != ""
}

// allow consumes the proof of an allowed action from two verifiers at once;
// only one may succeed.
func (c *client) allow() {
	got, ok := c.authorize("allow")
	if !ok || c.rng.IntN(3) != 0 {
		return
	}
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			// Sent once: after a lost response it is unknown which of the two consumed.
			a, err := c.http.Do("POST", "/api/v1/verify", object{"proof": got.Proof, "audience": harness.Audience, "consume": true})
			var said struct{ Valid bool }
			if err == nil && a.Status == http.StatusOK && json.Unmarshal(a.Body, &said) == nil && said.Valid {
				c.journal.write(func() { c.journal.Consumed = append(c.journal.Consumed, got.ProofID) })
			}
		})
	}
	all.Wait()
}

// challenge completes a challenge, cancels it, or lets it expire.
func (c *client) challenge() {
	got, ok := c.authorize("challenge")
	if !ok || got.Challenge == nil {
		return
	}
	at := "/api/v1/challenges/" + got.Challenge.ID
	switch c.rng.IntN(4) {
	case 0:
	case 1:
		if a, ok := c.persist("POST", at+"/cancel", nil); ok && c.settled("cancel", a) {
			c.journal.write(func() { c.journal.Cancelled = append(c.journal.Cancelled, got.Challenge.ID) })
		}
	default:
		a, ok := c.persist("POST", at+"/complete", object{"method": "sandbox_confirm"})
		var receipt struct{ Authorization string }
		if ok && c.settled("complete", a) && json.Unmarshal(a.Body, &receipt) == nil {
			c.journal.write(func() {
				c.journal.Completed = append(c.journal.Completed, Completed{got.Challenge.ID, receipt.Authorization})
			})
		}
	}
}

// hold reviews a hold, at times with two reviewers who disagree, or lets it
// expire.
func (c *client) hold() {
	got, ok := c.authorize("hold")
	if !ok {
		return
	}
	resolutions := [][]string{nil, {"approve"}, {"reject"}, {"approve", "reject"}}[c.rng.IntN(4)]
	var all sync.WaitGroup
	for _, r := range resolutions {
		all.Go(func() {
			a, ok := c.persist("POST", "/api/v1/authorizations/"+got.ID+"/review", object{"resolution": r})
			if ok && c.settled("review", a) {
				c.journal.write(func() { c.journal.Reviewed = append(c.journal.Reviewed, Reviewed{got.ID, r}) })
			}
		})
	}
	all.Wait()
}

// settled reports whether a change was made. One that came too late, or
// after a competing one, is refused with 409. A review that takes longer
// than its request returns 202 and may be made later.
func (c *client) settled(what string, a harness.Response) bool {
	later := what == "review" && a.Status == http.StatusAccepted
	if a.Status != http.StatusOK && a.Status != http.StatusConflict && !later {
		c.journal.refused(what, a.Status, a.Body)
	}
	if a.Status == http.StatusOK {
		c.journal.moved()
	}
	return a.Status == http.StatusOK
}

// evidence sends a frame, and the same frame again if there was no
// response.
func (c *client) evidence() {
	person := c.rng.IntN(len(c.sessions))
	session := c.sessions[person]
	id := rand.Text()
	c.sent++
	a, ok := c.persist("POST", "/api/v1/sessions/"+session+"/evidence", object{
		"frame_id": id, "timestamp": float64(time.Now().UnixMilli()) / 1000, "duration_ms": 19_500, "purpose": "score",
		"features": json.RawMessage(c.frames[c.sent%len(c.frames)]),
	})
	switch {
	case !ok:
	case c.renews && a.Status == http.StatusConflict && bytes.Contains(a.Body, []byte(`"session_closed"`)):
		c.renew(person)
	case a.Status != http.StatusOK:
		c.journal.refused("evidence", a.Status, a.Body)
	default:
		c.journal.write(func() { c.journal.Taken = append(c.journal.Taken, Taken{session, id}) })
	}
}

// renew starts a new session of a person.
func (c *client) renew(person int) {
	a, ok := c.persist("POST", "/api/v1/sessions", object{"subject": fmt.Sprintf("person-%d", person), "device_class": "desktop"})
	var made struct{ ID string }
	switch {
	case !ok:
	case a.Status >= http.StatusMultipleChoices || json.Unmarshal(a.Body, &made) != nil:
		c.journal.refused("a new session", a.Status, a.Body)
	default:
		c.sessions[person] = made.ID
	}
}

// texts marshals n different frames.
func texts(n int, next func() features.Frame) ([][]byte, error) {
	out := make([][]byte, n)
	for i := range out {
		var err error
		if out[i], err = json.Marshal(next()); err != nil {
			return nil, err
		}
	}
	return out, nil
}
