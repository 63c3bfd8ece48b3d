package hold

import (
	"context"

	"github.com/countersign-dev/countersign/internal/identity"
	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/models"
)

// Queued is a hold in the queue, with what the reviewer who looks at it may do.
type Queued struct {
	store.QueuedHold
	// Barred says that this reviewer asked for the decision and that the policy wants another one to review.
	Barred bool
}

// Queue lists holds for a reviewer, newest first or soonest due first. Without a status it lists what is pending.
func (s *Service) Queue(ctx context.Context, p identity.Principal, f store.HoldFilter, page store.Page) ([]Queued, string, error) {
	f.Now, f.Reviewer = s.Clock.Now(), p.Actor()
	if f.Status == "" {
		f.Status = models.HoldPending
	}
	rows, next, err := s.Store.HoldQueue(ctx, p.Store(), f, page)
	out := make([]Queued, len(rows))
	for i, row := range rows {
		if row.Status == models.HoldPending && !f.Now.Before(row.DueAt) {
			row.Status = models.HoldExpired
		}
		out[i] = Queued{QueuedHold: row, Barred: barred(row.SelfReviewBarred, p, row.CredentialID)}
	}
	return out, next, err
}

// Counts is what waits for reviewers now; action (a key) and risk narrow it where not empty.
func (s *Service) Counts(ctx context.Context, scope store.Scope, action, risk string) (store.HoldCounts, error) {
	return s.Store.CountHolds(ctx, scope, action, risk, s.Clock.Now())
}

// barred reports whether the reviewer is kept from reviewing what they asked for themselves. A credential keeps its id
// when its key is rotated.
func barred(selfReviewBarred bool, p identity.Principal, asker string) bool {
	return selfReviewBarred && p.CredentialID == asker
}
