package chaos

import (
	"fmt"
	"sync"
	"time"
)

// Journal has the responses that clients received. It is safe for
// concurrent use through its methods.
type Journal struct {
	mu sync.Mutex

	Asked     []Asked
	Completed []Completed
	Cancelled []string // challenges
	Reviewed  []Reviewed
	Consumed  []string // ids of consumed proofs, once for each response that reported so
	Taken     []Taken
	Misused   []Misuse
	Expired   []Expired
	Odd       []string // responses that no fault explains
	Responses map[int]int
	Outages   []Outage
	Clocks    []Clock

	decided []time.Time   // when decisions were received, in order
	moves   []time.Time   // when responses of settled challenges and holds were received, in order
	slowest time.Duration // the longest that a client waited for a response since the last interval

	excused  bool // a clock is moved, which explains refusals
	refusals int  // that a moved clock explains
}

// Asked is one authorize request, however often it was sent.
type Asked struct {
	Key      string    // idempotency key
	Sent     time.Time // first
	Want     string    // decision
	Answer   string    // body of the first response; empty if there was none
	ID       string
	Decision string
	ProofID  string
}

// Completed is the receipt of a completed challenge. Child is the follow-up
// decision.
type Completed struct{ Challenge, Child string }

// Reviewed is the receipt of a hold.
type Reviewed struct{ Hold, Resolution string }

// Taken is an acknowledged frame of evidence.
type Taken struct{ Session, Frame string }

// Misuse is one kind of misuse with the requests of the first tenant
// meanwhile, all of which must be decided.
type Misuse struct {
	Name           string
	Effective      int // responses to the misuse; with none it had no effect
	Asked, Decided int // decisions of the first tenant, each asked for once
}

// Expired is a stream whose key expired while it was open.
type Expired struct {
	Opened int  // status
	Ended  bool // by the service
	Again  int  // status of a stream with the key once it had expired
}

// write calls f with the journal locked.
func (j *Journal) write(f func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	f()
}

// odd records a response that no fault explains; Check reports it as a
// violation.
func (j *Journal) odd(format string, args ...any) {
	j.write(func() { j.Odd = append(j.Odd, fmt.Sprintf(format, args...)) })
}

// countResponse counts a response by its status; 0 is a request without a
// response within insist.
func (j *Journal) countResponse(status int) {
	j.write(func() {
		if j.Responses == nil {
			j.Responses = map[int]int{}
		}
		j.Responses[status]++
	})
}
