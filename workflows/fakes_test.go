package workflows_test

import (
	"context"
	"encoding/hex"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// challengeRecord behaves as internal/authz/challenge does on its row: a move finds the expected state or is refused.
type challengeRecord struct {
	mu      sync.Mutex
	status  models.ChallengeStatus
	expires time.Time
	by      string            // request that completed it
	moves   []string          // every move that was made
	fault   func(n int) error // error of the n-th call, from 0; nil for none
	after   func(n int) error // error of the n-th call after it has done its work: an activity that dies after its commit
	calls   int
}

func newChallengeRecord(expires time.Time) *challengeRecord {
	return &challengeRecord{status: models.ChallengeOpen, expires: expires}
}

func (r *challengeRecord) Complete(_ context.Context, m challenge.Move) (challenge.Outcome, error) {
	return r.asked(m, models.ChallengeCompleted)
}

func (r *challengeRecord) Cancel(_ context.Context, m challenge.Move) (challenge.Outcome, error) {
	return r.asked(m, models.ChallengeCancelled)
}

func (r *challengeRecord) asked(m challenge.Move, to models.ChallengeStatus) (challenge.Outcome, error) {
	return r.call(func() (challenge.Outcome, error) {
		request := hex.EncodeToString(m.Request)
		switch {
		case r.status == to && r.by == request:
			return r.outcome(), nil
		case r.status != models.ChallengeOpen:
			return challenge.Outcome{}, problem.New(problem.ChallengeClosed, "settled")
		case !m.At.Before(r.expires):
			return challenge.Outcome{}, problem.New(problem.ChallengeExpired, "expired")
		case request == "0bad":
			return challenge.Outcome{}, problem.New(problem.AssertionRefused, "refused")
		}
		r.status, r.by = to, request
		r.moves = append(r.moves, string(to))
		return r.outcome(), nil
	})
}

func (r *challengeRecord) Expire(_ context.Context, m challenge.Move) (challenge.Outcome, error) {
	return r.call(func() (challenge.Outcome, error) {
		if r.status == models.ChallengeOpen && !m.At.Before(r.expires) {
			r.status = models.ChallengeExpired
			r.moves = append(r.moves, "expired")
		}
		return r.outcome(), nil
	})
}

func (r *challengeRecord) call(f func() (challenge.Outcome, error)) (challenge.Outcome, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.calls
	r.calls++
	if r.fault != nil {
		if err := r.fault(n); err != nil {
			return challenge.Outcome{}, err
		}
	}
	out, err := f()
	if r.after != nil {
		if died := r.after(n); died != nil {
			return challenge.Outcome{}, died
		}
	}
	return out, err
}

func (r *challengeRecord) outcome() challenge.Outcome {
	out := challenge.Outcome{Status: r.status, ExpiresAt: r.expires}
	if r.status == models.ChallengeCompleted {
		out.Authorization, out.Decision = "azn_child", "allow"
	}
	return out
}

// settle moves the row as another part of the service would, past the run.
func (r *challengeRecord) settle(to models.ChallengeStatus) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = to
}

// holdRecord behaves as internal/authz/hold does on its row. Requests name their reviewer and resolution by their digest.
type holdRecord struct {
	mu       sync.Mutex
	status   models.HoldStatus
	remind   time.Time
	due      time.Time
	escalate time.Time // zero if there is no escalation
	required int
	requests map[string]request // by digest
	approved map[string]bool    // reviewers
	moves    []string
	fault    func(n int) error
	altered  bool // what approvals rest on
	calls    int
}

type request struct{ reviewer, resolution string }

func newHoldRecord(remind, due time.Time, required int) *holdRecord {
	return &holdRecord{
		status: models.HoldPending, remind: remind, due: due, required: required, approved: map[string]bool{},
		requests: map[string]request{
			"0a": {"ann", hold.Approve}, "0b": {"bob", hold.Approve}, "0c": {"ann", hold.Reject}, "0d": {"bob", hold.Reject},
		},
	}
}

func (r *holdRecord) Review(_ context.Context, m hold.Move) (hold.Outcome, error) {
	return r.call(func() (hold.Outcome, error) {
		asked := r.requests[hex.EncodeToString(m.Request)]
		if r.status == models.HoldPending && !m.At.Before(r.due) {
			return hold.Outcome{}, problem.New(problem.ReviewExpired, "expired")
		}
		if r.status != models.HoldPending {
			return r.outcome(), nil
		}
		if asked.resolution == hold.Reject {
			r.status = models.HoldRejected
			r.moves = append(r.moves, "rejected")
			return r.outcome(), nil
		}
		if r.altered {
			return hold.Outcome{}, &pg.Altered{Table: "reviews", Cause: pg.ErrMissingRow}
		}
		r.approved[asked.reviewer] = true
		if len(r.approved) >= r.required {
			r.status = models.HoldApproved
			r.moves = append(r.moves, "approved")
		}
		return r.outcome(), nil
	})
}

func (r *holdRecord) Remind(_ context.Context, _ hold.Move) (hold.Outcome, error) {
	return r.call(func() (hold.Outcome, error) {
		if r.status == models.HoldPending && !r.remind.IsZero() {
			r.remind = time.Time{}
			r.moves = append(r.moves, "reminded")
		}
		return r.outcome(), nil
	})
}

func (r *holdRecord) Escalate(_ context.Context, m hold.Move) (hold.Outcome, error) {
	return r.call(func() (hold.Outcome, error) {
		if r.status == models.HoldPending && !r.escalate.IsZero() && !m.At.Before(r.escalate) {
			r.escalate = time.Time{}
			r.moves = append(r.moves, "escalated")
		}
		return r.outcome(), nil
	})
}

func (r *holdRecord) Expire(_ context.Context, m hold.Move) (hold.Outcome, error) {
	return r.call(func() (hold.Outcome, error) {
		if r.status == models.HoldPending && !m.At.Before(r.due) {
			r.status = models.HoldExpired
			r.moves = append(r.moves, "expired")
		}
		return r.outcome(), nil
	})
}

func (r *holdRecord) call(f func() (hold.Outcome, error)) (hold.Outcome, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.calls
	r.calls++
	if r.fault != nil {
		if err := r.fault(n); err != nil {
			return hold.Outcome{}, err
		}
	}
	return f()
}

func (r *holdRecord) outcome() hold.Outcome {
	out := hold.Outcome{Status: r.status, Approvals: len(r.approved), Required: r.required, RemindAt: r.remind, DueAt: r.due, EscalateAt: r.escalate}
	if r.status == models.HoldApproved {
		out.Authorization, out.Decision = "azn_child", "allow"
	}
	return out
}
