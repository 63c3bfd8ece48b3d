// Package followup defines a follow-up decision: the decision that is made when a challenge is completed or a hold is
// approved. It holds only the types that challenge and hold share with authorization, which makes the decision, so that
// authorization may in turn read challenges and holds.
package followup

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// Request says which decision to follow up and what has changed since.
type Request struct {
	Parent          models.Authorization
	ChallengeMethod string // the method of the completed challenge; empty after a review
	HoldApproved    bool
	// At is the workflow's time of the move. Every retry, on whichever worker, decides as of it.
	At         time.Time
	Actor      string
	RequestID  string
	WorkflowID string
	// Cause returns the event that led to the follow-up decision; nil adds none. It is written in the same statement as the
	// decision's own events and precedes them.
	Cause func(followUp models.Authorization) events.Entry
}

// Signable returns the problem unavailable if the decision that follows one in the mode may have a proof, and none can be signed at
// present. It is asked before anything of a request is stored or consumed, so that the same request can be sent again.
type Signable func(ctx context.Context, s pg.Scope, mode models.ActionMode) error

// Check calls f, unless it is nil.
func (f Signable) Check(ctx context.Context, s pg.Scope, mode models.ActionMode) error {
	if f == nil {
		return nil
	}
	return f(ctx, s, mode)
}

// Decider makes the follow-up decision in the caller's transaction. It returns the decision and the body of its
// AuthorizeResponse.
type Decider func(ctx context.Context, q *pg.Q, r Request) (followUp models.Authorization, response []byte, err error)
