package chaos

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
)

// Facts are the final state: the database, the webhooks' receiver and the
// workflow runs.
type Facts struct {
	Decisions  []Decision
	Proofs     map[string]string   // status by id
	Challenges map[string]Settled  // by id
	Holds      map[string]Settled  // by authorization
	Frames     map[Taken]int       // rows
	Events     map[string]Event    // by id
	Sealed     map[string]int      // links of the audit chain, by event
	Received   map[string][]string // bodies that a receiver took, by event
	Waiting    map[string]int      // what should have ended and has not: outbox, deliveries
	Runs       map[string]int      // workflows by state, of those that should all have ended well
	Audit      string              // what is wrong with the audit chain; empty is nothing
}

// Decision is a stored authorization. Answer is the stored response.
type Decision struct{ ID, Key, Parent, Decision, Answer string }

// Settled is a challenge or a hold. Child is the follow-up decision, if
// there is one.
type Settled struct{ Status, Child string }

// Event is an entry of the event log. Public events are delivered to
// webhooks.
type Event struct {
	Type, Authorization string
	Public              bool
}

// Check compares the responses in the journal with the facts. Each string
// that it returns is a violation.
func Check(j *Journal, f Facts) []string {
	c := checker{j: j, f: f, byID: map[string]Decision{}, byKey: map[string][]Decision{}, children: map[string][]Decision{}}
	for _, d := range f.Decisions {
		c.byID[d.ID] = d
		if d.Parent == "" {
			c.byKey[d.Key] = append(c.byKey[d.Key], d)
		} else {
			c.children[d.Parent] = append(c.children[d.Parent], d)
		}
	}
	c.asked()
	c.challenges()
	c.holds()
	c.proofs()
	c.frames()
	c.log()
	c.misuse()
	c.outages()
	c.clocks()
	c.ended()
	return append(c.found, j.Odd...)
}

// checker has the journal, the facts and indexes over them.
type checker struct {
	j        *Journal
	f        Facts
	byID     map[string]Decision
	byKey    map[string][]Decision
	children map[string][]Decision
	found    []string
}

// fault records a violation.
func (c *checker) fault(format string, args ...any) {
	c.found = append(c.found, fmt.Sprintf(format, args...))
}

// asStored returns what a stored response has: the rest of what was returned has columns of its own.
func asStored(response string) string {
	var fields map[string]any
	if json.Unmarshal([]byte(response), &fields) != nil {
		return response
	}
	out, err := json.Marshal([]any{fields["human_readable"], fields["challenge"]})
	if err != nil {
		return response
	}
	return string(out)
}

// asked checks authorize requests: a returned decision is stored once, as
// it was returned; and nothing
// is stored that no client requested.
func (c *checker) asked() {
	known := map[string]bool{}
	for _, a := range c.j.Asked {
		known[a.Key] = true
		rows := c.byKey[a.Key]
		if len(rows) > 1 {
			c.fault("the key %s made %d decisions", a.Key, len(rows))
		}
		if a.Answer == "" {
			continue
		}
		switch {
		case len(rows) == 0:
			c.fault("authorization %s was returned and is not stored", a.ID)
		case asStored(rows[0].Answer) != asStored(a.Answer):
			c.fault("authorization %s was returned differently from what is stored", a.ID)
		case a.Decision != a.Want:
			c.fault("authorization %s is %s and should be %s", a.ID, a.Decision, a.Want)
		}
		if _, there := c.f.Proofs[a.ProofID]; a.ProofID != "" && !there {
			c.fault("proof %s was issued and is not stored", a.ProofID)
		}
	}
	for key, rows := range c.byKey {
		if !known[key] {
			c.fault("decision %s was requested by no client", rows[0].ID)
		}
	}
	for parent, rows := range c.children {
		if len(rows) > 1 {
			c.fault("authorization %s has %d follow-up decisions", parent, len(rows))
		}
	}
}

// challenges checks that every receipt still holds, that every challenge
// has ended, and that a completed one has one follow-up decision.
func (c *checker) challenges() {
	for _, r := range c.j.Completed {
		if s := c.f.Challenges[r.Challenge]; s.Status != "completed" || s.Child != r.Child {
			c.fault("challenge %s was reported completed with %s and is %s with %s", r.Challenge, r.Child, s.Status, s.Child)
		}
	}
	for _, id := range c.j.Cancelled {
		if s := c.f.Challenges[id]; s.Status != "cancelled" {
			c.fault("challenge %s was reported cancelled and is %s", id, s.Status)
		}
	}
	for id, s := range c.f.Challenges {
		c.ends("challenge", id, s, "open", "completed")
	}
}

// holds checks the same for holds; of competing reviews exactly one
// resolution is stored.
func (c *checker) holds() {
	for _, r := range c.j.Reviewed {
		want := map[string]string{"approve": "approved", "reject": "rejected"}[r.Resolution]
		if s := c.f.Holds[r.Hold]; s.Status != want {
			c.fault("hold %s was reported %s and is %s", r.Hold, want, s.Status)
		}
	}
	for id, s := range c.f.Holds {
		c.ends("hold", id, s, "pending", "approved")
	}
}

// ends checks that a challenge or hold has ended and has a follow-up
// decision exactly if it should.
func (c *checker) ends(kind, id string, s Settled, open, followed string) {
	if s.Status == open {
		c.fault("%s %s is still %s", kind, id, open)
	}
	child, there := c.byID[s.Child]
	switch {
	case s.Status == followed && (!there || child.Parent == ""):
		c.fault("%s %s is %s and no decision followed", kind, id, followed)
	case s.Status != followed && s.Child != "":
		c.fault("%s %s is %s and yet %s followed", kind, id, s.Status, s.Child)
	}
}

// proofs checks that no proof was consumed twice.
func (c *checker) proofs() {
	times := map[string]int{}
	for _, id := range c.j.Consumed {
		times[id]++
	}
	for id, n := range times {
		if n > 1 {
			c.fault("proof %s was consumed %d times", id, n)
		}
		if c.f.Proofs[id] != "consumed" {
			c.fault("proof %s was reported consumed and is %q", id, c.f.Proofs[id])
		}
	}
}

// frames checks that every acknowledged frame is stored once.
func (c *checker) frames() {
	for _, t := range c.j.Taken {
		if n := c.f.Frames[t]; n != 1 {
			c.fault("frame %s of session %s was acknowledged and is stored %d times", t.Frame, t.Session, n)
		}
	}
}

// log checks the event log: each decision has one entry; every entry is
// sealed once in the audit chain; every public entry was delivered, always
// with the same body.
func (c *checker) log() {
	decided := map[string]int{}
	for id, e := range c.f.Events {
		if e.Type == "authorization.decided" {
			decided[e.Authorization]++
		}
		if n := c.f.Sealed[id]; n != 1 {
			c.fault("event %s (%s) is in the audit chain %d times", id, e.Type, n)
		}
		bodies := c.f.Received[id]
		if e.Public && len(bodies) == 0 {
			c.fault("event %s (%s) was not delivered", id, e.Type)
		}
		if slices.Sort(bodies); len(slices.Compact(bodies)) > 1 {
			c.fault("event %s (%s) was delivered with two bodies", id, e.Type)
		}
	}
	for id := range c.byID {
		if n := decided[id]; n != 1 {
			c.fault("decision %s is in the log %d times", id, n)
		}
	}
	for id := range c.f.Received {
		if _, there := c.f.Events[id]; !there {
			c.fault("event %s was delivered and is not in the log", id)
		}
	}
	if c.f.Audit != "" {
		c.fault("the audit chain: %s", c.f.Audit)
	}
}

// misuse checks that the misuse by one tenant kept no decision from
// another, and that a stream ends with its key.
func (c *checker) misuse() {
	for _, m := range c.j.Misused {
		if m.Effective == 0 || m.Asked == 0 {
			c.fault("%s: it had no effect (%d responses) or nothing was requested meanwhile (%d)", m.Name, m.Effective, m.Asked)
		}
		if m.Decided != m.Asked {
			c.fault("%s: of %d decisions that another asked for, %d were made", m.Name, m.Asked, m.Decided)
		}
	}
	for _, s := range c.j.Expired {
		switch {
		case s.Opened != http.StatusOK:
			c.fault("a stream was opened with %d before its key expired", s.Opened)
		case !s.Ended:
			c.fault("a stream went on after its key expired")
		case s.Again != http.StatusUnauthorized:
			c.fault("a stream of an expired key was opened again with %d", s.Again)
		}
	}
}

// ended checks that nothing is waiting and that every workflow run
// completed.
func (c *checker) ended() {
	for _, what := range slices.Sorted(maps.Keys(c.f.Waiting)) {
		if n := c.f.Waiting[what]; n > 0 {
			c.fault("%d %s still wait", n, what)
		}
	}
	for _, state := range slices.Sorted(maps.Keys(c.f.Runs)) {
		if n := c.f.Runs[state]; n > 0 && state != "completed" {
			c.fault("%d runs are %s", n, state)
		}
	}
}
