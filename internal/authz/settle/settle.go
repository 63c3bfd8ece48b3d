// Package settle contains what challenges, holds, change requests and evaluations share: they all wait for someone to settle them.
//
// A move reads its record once, decides what becomes of it, and writes that in one pipelined transaction. The first statement is a guard: a
// conditional change that names the state it expects and fails if the record is in a different one. Nothing is locked between the
// read and the write; a move whose guard fails reads the record again. Every move is safe to repeat.
//
// The package may not know any of the records.
package settle

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Move is a request for one move of one record.
type Move struct {
	ID          string // of a hold: the held authorization
	Environment string
	Request     []byte // digest of the stored request of a challenge or a hold; empty for a move by time
	Resolution  string // of a change request
	Reason      string // of a change request: why it is resolved so
	Actor       string // who asks for a move without a stored request; empty for a move by time
	RequestID   string
	At          time.Time
	WorkflowID  string
}

// Scope returns the environment of the record. Its workflow knows no tenant.
func (m Move) Scope() pg.Scope { return pg.Scope{Environment: m.Environment} }

// ErrChanged says that a guard failed: what the move rests on has changed since it was read, and nothing was written.
var ErrChanged = errors.New("settle: the record has changed since it was read")

// attempts is how often a move is made in a row. Each failure means that another move, or a change of the subject, was made.
const attempts = 5

// Retry makes a move, and again while what it rests on changes.
func Retry(move func() error) error {
	for range attempts {
		if err := move(); !errors.Is(err, ErrChanged) {
			return err
		}
	}
	return problem.NewUnavailable("Other requests are changing the record. Send the request again.", ErrChanged)
}

// FollowUp asks for the decision that is made when a challenge is completed or a hold is approved. It says which decision to follow up
// and what has changed since.
type FollowUp struct {
	Scope           pg.Scope
	Parent          string  // the authorization
	ChallengeMethod string  // the method of the completed challenge; empty after a review
	Passkey         *string // that completed it; nil for another method
	HoldApproved    bool
	BreakGlass      bool // HoldApproved, by one person alone
	// At is the workflow's time of the move. Every retry, on whichever worker, decides as of it.
	At         time.Time
	Actor      string
	RequestID  string
	WorkflowID string
	// Cause returns the event that led to the follow-up decision; nil adds none. It is written with the decision's own events and
	// precedes them.
	Cause func(followUp models.Authorization) events.Entry
	// Settle adds the statements by which the move settles its record, with their guards; nil adds none. They are written with the
	// decision. The response is the body of its AuthorizeResponse.
	Settle func(b *pgx.Batch, followUp models.Authorization, response []byte) error
}

// Decider makes follow-up decisions (authorization.Service). It returns ErrChanged, and has written nothing, if a guard fails or the
// subject changes meanwhile.
type Decider func(ctx context.Context, q *pg.Q, r FollowUp) (models.Authorization, error)

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
