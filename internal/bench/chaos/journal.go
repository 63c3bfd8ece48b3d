package chaos

import (
	"fmt"
	"sync"
)

// Journal is what the clients were told.
type Journal struct {
	mu sync.Mutex

	Asked     []Asked
	Completed []Completed
	Cancelled []string // challenges
	Reviewed  []Reviewed
	Consumed  []string // ids of proofs that verify answered to have consumed, once for each such answer
	Taken     []Taken
	Misused   []Misuse
	Expired   []Expired
	Odd       []string // answers that no fault excuses
	Responses map[int]int
}

// Asked is one authorize request, however often it was sent.
type Asked struct {
	Key      string // idempotency key
	Want     string // decision
	Answer   string // the first answer's body; empty where none came
	ID       string
	Decision string
	ProofID  string
}

// Completed is the receipt of a challenge.
type Completed struct{ Challenge, Child string }

// Reviewed is the receipt of a hold.
type Reviewed struct{ Hold, Resolution string }

// Taken is a frame of evidence that was acknowledged.
type Taken struct{ Session, Frame string }

// Misuse is a time in which somebody misused the service and nothing was broken: what the first tenant asked meanwhile has to be
// decided as if nobody did.
type Misuse struct {
	Name           string
	Effective      int // answers that the misuse had: without any there was none
	Asked, Decided int // decisions of the first tenant, each asked for once
}

// Expired is a stream whose key expired while it was open.
type Expired struct {
	Opened int  // status
	Ended  bool // by the service
	Again  int  // status of a stream with the key once it had expired
}

func (j *Journal) write(f func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	f()
}

func (j *Journal) odd(format string, args ...any) {
	j.write(func() { j.Odd = append(j.Odd, fmt.Sprintf(format, args...)) })
}

func (j *Journal) answered(status int) {
	j.write(func() {
		if j.Responses == nil {
			j.Responses = map[int]int{}
		}
		j.Responses[status]++
	})
}
