package authorization

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/countersign-dev/countersign/internal/authz/aggregate"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/signing"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// underLocks runs f in a transaction in which it takes the locks of a decision. What it waits for, it waits for without a connection, which others
// need: the decisions of this process under the same locks, those of other processes, and the backend that signs. For that signature f is rolled
// back and runs again, so that no one waits behind the locks for it either; nothing is reserved meanwhile, and what is signed is in memory only.
func (s *Service) underLocks(ctx context.Context, turns []string, f func(q *pg.Q, before *ahead) error) error {
	before := &ahead{proof: &signing.Ahead{}}
	for range maxAttempts {
		err := s.inTurn(ctx, turns, func(q *pg.Q) error { return f(q, before) })
		var u *unsigned
		if !errors.As(err, &u) {
			return err
		}
		if u.ahead.proof, err = s.proofs.SignAhead(ctx, u.wanted); err != nil {
			return err
		}
		before = &u.ahead
	}
	return errTurn
}

// lockPause is for how long at most a decision leaves its connection to others before it tries a lock again.
const lockPause = aggregate.LockTry / 2

// inTurn runs f in a transaction once it is its turn, and again while another process has the locks.
func (s *Service) inTurn(ctx context.Context, turns []string, f func(q *pg.Q) error) error {
	pass, err := s.turns.take(ctx, turns, aggregate.LockWait)
	if err != nil {
		return err
	}
	defer pass()
	for range aggregate.LockWait / (aggregate.LockTry + lockPause/2) {
		if err = s.store.Write(ctx, f); !pg.IsLocked(err) {
			return err
		}
		select {
		case <-time.After(rand.N(lockPause)): //nolint:gosec // a pause is no secret
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return err
}

// unsigned ends an attempt under locks whose proof is to be signed first.
type unsigned struct {
	wanted *signing.Unsigned
	ahead  ahead // without the proof
}

// Error implements error.
func (u *unsigned) Error() string { return u.wanted.Error() }

// ahead keeps the results of an attempt under locks that was rolled back for the signature of its proof. The decision is made again as of the same
// time and on the same evidence, so that the signature fits. What others have spent meanwhile is read anew: the decision may be a different one.
type ahead struct {
	proof   *signing.Ahead // without a signature for the first attempt
	id      string         // of the decision; empty for the first attempt
	at      time.Time
	session *models.Session
	heads   []models.Template
}

// use replaces the evidence by that of the earlier attempt, unless the session has ended or its id differs, and returns the time of the decision: that
// of the earlier attempt, or now.
func (a *ahead) use(f *Facts, now time.Time) time.Time {
	if a == nil || a.id == "" {
		return now
	}
	if f.Session != nil && a.session != nil && f.Session.ID == a.session.ID && f.Session.Status == a.session.Status {
		f.Session, f.Heads = a.session, a.heads
	}
	return a.at
}

// idOf returns the id of a decision. Only an allow takes the id that was signed.
func (a *ahead) idOf(d policy.Decision) string {
	if a != nil && a.id != "" && d.Effect == policy.Allow {
		return a.id
	}
	return ids.New(ids.Authorization)
}

// signed returns the proof of the earlier attempt; nil for a decision that holds no locks, which waits for its signature.
func (a *ahead) signed() *signing.Ahead {
	if a == nil {
		return nil
	}
	return a.proof
}
