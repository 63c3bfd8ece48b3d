// Package hold keeps holds: the queue of reviewers and the moves of the state machine, each one conditional UPDATE that
// names the state it expects. The run that serialises the moves is in package workflows; this package starts nothing and
// waits for nothing. A reviewer's note is kept as a digest only. Nothing here approves by itself, and time never does.
package hold

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/display"
	"github.com/countersign-dev/countersign/internal/authz/followup"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// Resolutions of a review.
const (
	Approve = "approve"
	Reject  = "reject"
)

// Proofs restores the proof that a stored receipt of an approval was returned with (internal/authz/signing).
type Proofs interface {
	Restored(authorization string, body, sealed []byte) ([]byte, error)
}

// Service queues holds for reviewers and makes their moves.
type Service struct {
	store  *store.Store
	clock  clock.Clock
	decide followup.Decider
	proofs Proofs
	vault  display.Vault
}

// Deps are what a Service works with.
type Deps struct {
	Store  *store.Store
	Clock  clock.Clock
	Decide followup.Decider // makes the decision that follows an approval
	Proofs Proofs           // nil if no receipt has a proof
	Vault  display.Vault    // opens the details of a request
}

// New returns a Service.
func New(d Deps) *Service {
	return &Service{store: d.Store, clock: d.Clock, decide: d.Decide, proofs: d.Proofs, vault: d.Vault}
}

// Effective is the status of a hold at now: one that is due is expired, however late its timer.
func Effective(h models.Hold, now time.Time) models.HoldStatus {
	if h.Status == models.HoldPending && !now.Before(h.DueAt) {
		return models.HoldExpired
	}
	return h.Status
}

// Run is what the run of a hold is started with.
type WorkflowInput struct {
	Authorization string
	Environment   string
	Action        string
	RemindAt      time.Time
	DueAt         time.Time
}

// Prepared is a review that may go to the run, or the answer one got before.
type Prepared struct {
	Workflow   WorkflowInput
	Request    string // hex digest of the whole request
	Resolution string
	Receipt    json.RawMessage // ManualReviewReceipt of a hold that was resolved this way before
	Pending    *Pending        // this reviewer's approval is counted and more are wanted
}

// Pending is ReviewPending.
type Pending struct {
	Authorization string    `json:"authorization"`
	Resolution    string    `json:"resolution"`
	ReviewStatus  string    `json:"review_status"`
	Approvals     Approvals `json:"approvals"`
}

// Approvals counts the distinct approvals of a hold.
type Approvals struct {
	Given    int `json:"given"`
	Required int `json:"required"`
}

// PrepareReview checks that the hold may be reviewed by the caller and keeps what they asked.
func (s *Service) PrepareReview(ctx context.Context, p identity.Principal, id, resolution string, note *string) (Prepared, error) {
	key, err := s.store.Decisions().Requester(ctx, p.Store(), id)
	if err != nil {
		return Prepared{}, err
	}
	h, err := s.store.Holds().Get(ctx, p.Store(), id)
	if errors.Is(err, store.ErrNotFound) {
		return Prepared{}, problem.New(problem.NotHeld, "The authorization was not held.")
	}
	if err != nil {
		return Prepared{}, err
	}
	if status := Effective(h, s.clock.Now()); status != models.HoldPending {
		return s.settled(ctx, h, status, resolution)
	}
	if err := s.refuseSelfReview(ctx, p, h, key.CredentialID); err != nil {
		return Prepared{}, err
	}
	done, again, err := s.counted(ctx, h, p, resolution)
	if done != nil || err != nil {
		return Prepared{Pending: done, Resolution: resolution}, err
	}
	return s.keep(ctx, p, h, asked{action: key.ActionKey, resolution: resolution, note: note, again: again})
}

// settled answers a review of a hold that is resolved: with the stored receipt where it was resolved this way.
func (s *Service) settled(ctx context.Context, h models.Hold, status models.HoldStatus, resolution string) (Prepared, error) {
	if err := refuseSettled(status, resolution); err != nil {
		return Prepared{}, err
	}
	stored, err := s.store.Holds().ReviewReceipt(ctx, h.AuthorizationID)
	if err != nil || stored.Sealed == nil {
		return Prepared{Receipt: stored.Body, Resolution: resolution}, err
	}
	receipt, err := s.proofs.Restored(*stored.Child, stored.Body, stored.Sealed)
	return Prepared{Receipt: receipt, Resolution: resolution}, err
}

// refuseSettled is nil for a hold that was resolved just this way.
func refuseSettled(status models.HoldStatus, resolution string) error {
	switch {
	case status == models.HoldExpired:
		return problem.New(problem.ReviewExpired, "The hold has expired.")
	case status == models.HoldApproved && resolution == Approve, status == models.HoldRejected && resolution == Reject:
		return nil
	default:
		return problem.Newf(problem.ReviewResolved, "The hold is %s.", status)
	}
}

// counted tells a reviewer who approved before, and is not the last, where the hold stands. It reports true if their repeated
// approval has to be taken in again: an earlier reviewer has come back to good standing since, so that it settles the hold.
func (s *Service) counted(ctx context.Context, h models.Hold, p identity.Principal, resolution string) (*Pending, bool, error) {
	if h.ApprovalsRequired < 2 || resolution != Approve {
		return nil, false, nil
	}
	before, err := s.store.Holds().ReviewedBy(ctx, h.AuthorizationID, p.Actor())
	if err != nil || before != Approve {
		return nil, false, err
	}
	given, err := s.store.Holds().Approvals(ctx, h.AuthorizationID, s.clock.Now())
	if err == nil && given >= h.ApprovalsRequired {
		return nil, true, nil
	}
	return PendingAt(h.AuthorizationID, resolution, given, h.ApprovalsRequired), false, err
}

// Waiting is the answer to a review that is taken in while the run has not answered yet.
func (s *Service) Waiting(ctx context.Context, scope store.Scope, id, resolution string) (*Pending, error) {
	h, err := s.store.Holds().Get(ctx, scope, id)
	if err != nil {
		return nil, err
	}
	given, err := s.store.Holds().Approvals(ctx, id, s.clock.Now())
	return PendingAt(id, resolution, given, h.ApprovalsRequired), err
}

// PendingAt is the answer to a review that leaves the hold pending.
func PendingAt(id, resolution string, given, required int) *Pending {
	return &Pending{
		Authorization: id, Resolution: resolution, ReviewStatus: string(models.HoldPending),
		Approvals: Approvals{Given: given, Required: required},
	}
}

// asked is what a reviewer asked for.
type asked struct {
	action, resolution string
	note               *string
	again              bool // the same was asked before and has to be taken in once more
}

func (s *Service) keep(ctx context.Context, p identity.Principal, h models.Hold, in asked) (Prepared, error) {
	var noteDigest *string
	if in.note != nil {
		d := canonical.DigestBytes([]byte(*in.note))
		noteDigest = &d
	}
	request := map[string]any{"move": in.resolution, "authorization": h.AuthorizationID, "actor": p.Actor(), "note": noteDigest}
	if in.again {
		request["at"] = apitime.Time(s.clock.Now())
	}
	body, err := canonical.JSON(request)
	if err != nil {
		return Prepared{}, fmt.Errorf("digest of a review: %w", err)
	}
	digest := sha256.Sum256(body)
	err = s.store.Moves().Insert(ctx, models.MoveRequest{
		Target: h.AuthorizationID, Digest: digest[:], AuthorizationID: h.AuthorizationID, Move: in.resolution, Actor: p.Actor(),
		RequestID: p.RequestID, NoteDigest: noteDigest, RequestedAt: s.clock.Now(),
	})
	return Prepared{Workflow: runOf(h, in.action), Request: hex.EncodeToString(digest[:]), Resolution: in.resolution}, err
}

func runOf(h models.Hold, action string) WorkflowInput {
	return WorkflowInput{
		Authorization: h.AuthorizationID, Environment: h.EnvironmentID, Action: action, RemindAt: h.RemindAt.UTC(), DueAt: h.DueAt.UTC(),
	}
}

// Run is what the run of a hold is started with, looked up by id for the outbox relay; false where nothing is left to run
// for.
func (s *Service) WorkflowInput(ctx context.Context, id string) (WorkflowInput, bool, error) {
	var c store.HoldCase
	err := s.store.Write(ctx, func(q *store.Q) (err error) {
		c, err = q.Holds().LockCase(ctx, id)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return WorkflowInput{}, false, nil
	}
	return runOf(c.Hold, c.Parent.ActionKey), c.Hold.Status == models.HoldPending, err
}

// Receipt is the stored ManualReviewReceipt of a hold that was resolved this way; a refusal where it was resolved another
// way, and unavailable while it is not resolved.
func (s *Service) Receipt(ctx context.Context, scope store.Scope, id, resolution string) (json.RawMessage, error) {
	h, err := s.store.Holds().Get(ctx, scope, id)
	if err != nil {
		return nil, err
	}
	status := Effective(h, s.clock.Now())
	if status == models.HoldPending {
		return nil, problem.NewUnavailable("The hold is not settled yet. Ask again.", nil)
	}
	p, err := s.settled(ctx, h, status, resolution)
	return p.Receipt, err
}
