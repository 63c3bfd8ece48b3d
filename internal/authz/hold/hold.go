// Package hold implements the review of held decisions: the queue of reviewers, the use case of a review (Reviewer), and the
// moves of the state machine, each one conditional UPDATE that names the state it expects. The workflow that serialises the
// moves is in package workflows.
//
// Service starts no workflow and waits for none. A reviewer's note is stored as a digest only, unless
// the environment stores notes. A hold is never approved by
// anything but reviewers; time in particular only expires it.
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
	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/authz/display"
	"github.com/countersign-dev/countersign/internal/authz/followup"
	"github.com/countersign-dev/countersign/internal/authz/proof"
	"github.com/countersign-dev/countersign/internal/authz/reviewnote"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Resolutions of a review.
const (
	Approve = "approve"
	Reject  = "reject"
)

// Proofs restores the proof that a stored receipt of an approval was returned with (internal/authz/signing).
type Proofs interface {
	Restored(ctx context.Context, scope pg.Scope, authorization string, body []byte) ([]byte, error)
}

// Service queues holds for reviewers and makes their moves.
type Service struct {
	store    *pg.Store
	clock    clock.Clock
	decide   followup.Decider
	signable followup.Signable
	proofs   Proofs
	vault    display.Vault
	notes    reviewnote.Vault
}

// Deps are the dependencies of a Service.
type Deps struct {
	Store    *pg.Store
	Clock    clock.Clock
	Decide   followup.Decider  // makes the decision that follows an approval
	Signable followup.Signable // nil: always
	Proofs   Proofs            // nil if no receipt has a proof
	Vault    display.Vault     // opens the details of a request
	Notes    reviewnote.Vault  // seals the notes of reviews
}

// New returns a Service.
func New(d Deps) *Service {
	return &Service{store: d.Store, clock: d.Clock, decide: d.Decide, signable: d.Signable, proofs: d.Proofs, vault: d.Vault, notes: d.Notes}
}

// Effective returns the status of a hold at a time: a pending hold that is due is expired, however late its timer.
func Effective(h models.Hold, now time.Time) models.HoldStatus {
	if h.Status == models.HoldPending && !now.Before(h.DueAt) {
		return models.HoldExpired
	}
	return h.Status
}

// WorkflowInput is the input of the workflow of a hold.
type WorkflowInput struct {
	// Authorization is the held decision, which identifies the hold.
	Authorization string
	Environment   string
	// Action is the action's key.
	Action string
	// RemindAt and DueAt are in UTC.
	RemindAt time.Time
	DueAt    time.Time
	// EscalateAt is when the first escalation to another team is due; zero if there is none.
	EscalateAt time.Time
}

// Prepared is a review that is ready for the workflow, or the result of an earlier one: if Receipt or Pending is set, there is
// nothing left to do.
type Prepared struct {
	// Workflow starts the workflow if the outbox relay has not started it yet.
	Workflow   WorkflowInput
	Request    string // hex digest of the whole request
	Resolution string
	Receipt    json.RawMessage // ManualReviewReceipt of a hold that is resolved this way already
	Pending    *Pending        // the approval of this reviewer is counted already, and more are required
	withProof  bool            // the reviewer may receive the proof of the decision that follows
}

// Pending is ReviewPending.
type Pending struct {
	Authorization string `json:"authorization"`
	// Resolution is the one that was requested.
	Resolution string `json:"resolution"`
	// ReviewStatus is always pending.
	ReviewStatus string `json:"review_status"`
	// Approvals counts reviewers in good standing only.
	Approvals Approvals `json:"approvals"`
	// Teams are those that the hold requires, with what each has given; omitted if it requires none.
	Teams []Wanted `json:"teams,omitempty"`
}

// Approvals counts the distinct approvals of a hold.
type Approvals struct {
	Given    int `json:"given"`
	Required int `json:"required"`
}

// PrepareReview checks that the caller may review the hold and stores the review for the workflow. Refusals are not_held,
// review_expired, review_resolved and self_review.
func (s *Service) PrepareReview(ctx context.Context, p identity.Principal, id, resolution string, note *string) (Prepared, error) {
	key, err := challenge.RequesterOfDecision(ctx, s.store.Q, p.Store(), id)
	if err != nil {
		return Prepared{}, err
	}
	h, err := GetHold(ctx, s.store.Q, p.Store(), id)
	if errors.Is(err, pg.ErrNotFound) {
		return Prepared{}, problem.New(problem.NotHeld, "The authorization was not held.")
	}
	if err != nil {
		return Prepared{}, err
	}
	status, err := s.statusFor(ctx, p, h, resolution)
	if err != nil {
		return Prepared{}, err
	}
	if status != models.HoldPending {
		return s.settled(ctx, h, status, Prepared{Resolution: resolution, withProof: p.MayReceiveProof(key.CredentialID)})
	}
	if err := s.refuseSelfReview(ctx, p, h, key.CredentialID); err != nil {
		return Prepared{}, err
	}
	if err := s.refuseOutsider(ctx, p, h, resolution); err != nil {
		return Prepared{}, err
	}
	if err := s.refuseUnconfirmed(ctx, p, h, resolution); err != nil {
		return Prepared{}, err
	}
	done, repeat, err := s.counted(ctx, h, p, resolution)
	if done != nil || err != nil {
		return Prepared{Pending: done, Resolution: resolution}, err
	}
	if err := s.refuseUnsignable(ctx, h, key.Mode, resolution); err != nil {
		return Prepared{}, err
	}
	prepared, err := s.saveRequest(ctx, p, h, reviewRequest{action: key.ActionKey, resolution: resolution, note: note, repeat: repeat})
	prepared.withProof = p.MayReceiveProof(key.CredentialID)
	return prepared, err
}

// statusFor returns the status of the hold for a review. A due hold is expired, but not for a review that this reviewer
// requested before: the first request may be under way in time, and only the workflow knows.
func (s *Service) statusFor(ctx context.Context, p identity.Principal, h models.Hold, resolution string) (models.HoldStatus, error) {
	status := Effective(h, s.clock.Now())
	if status == h.Status {
		return status, nil
	}
	repeated, err := challenge.MoveRequested(ctx, s.store.Q, models.MoveRequest{
		EnvironmentID: h.EnvironmentID, Target: h.AuthorizationID, Move: resolution, Actor: p.Actor(),
	})
	if repeated {
		status = h.Status
	}
	return status, err
}

// settled returns the stored receipt of a hold that is resolved the same way, and a refusal otherwise.
func (s *Service) settled(ctx context.Context, h models.Hold, status models.HoldStatus, review Prepared) (Prepared, error) {
	resolution := review.Resolution
	if err := refuseSettled(status, resolution); err != nil {
		return Prepared{}, err
	}
	stored, err := reviewReceipt(ctx, s.store.Q, h)
	if err != nil || !review.withProof || stored.Child == nil || !proof.Removed(stored.Body) {
		return Prepared{Receipt: stored.Body, Resolution: resolution}, err
	}
	receipt, err := s.proofs.Restored(ctx, pg.Scope{Tenant: h.TenantID, Environment: h.EnvironmentID}, *stored.Child, stored.Body)
	return Prepared{Receipt: receipt, Resolution: resolution}, err
}

// refuseSettled returns the refusal of a hold that is not pending, and nil if it was resolved the same way.
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

// counted returns the state of the hold to a reviewer who has approved already. It returns true if the repeated approval must be
// recorded again: an earlier reviewer has returned to good standing since, so that it now settles the hold.
func (s *Service) counted(ctx context.Context, h models.Hold, p identity.Principal, resolution string) (*Pending, bool, error) {
	if h.ApprovalsRequired < 2 || resolution != Approve {
		return nil, false, nil
	}
	before, err := resolutionBy(ctx, s.store.Q, h, p.Actor())
	if err != nil || before != Approve {
		return nil, false, err
	}
	tally, err := tallyOf(ctx, s.store.Q, h, s.clock.Now())
	if err == nil && tally.Given >= tally.Required {
		return nil, true, nil
	}
	return pendingOf(h.AuthorizationID, resolution, tally), false, err
}

// refuseUnsignable refuses an approval that may settle the hold while the decision that follows could not be signed.
func (s *Service) refuseUnsignable(ctx context.Context, h models.Hold, mode models.ActionMode, resolution string) error {
	if resolution != Approve {
		return nil
	}
	if h.ApprovalsRequired > 1 {
		tally, err := tallyOf(ctx, s.store.Q, h, s.clock.Now())
		if err != nil || tally.Given+1 < tally.Required {
			return err
		}
	}
	return s.signable.Check(ctx, scopeOf(h), mode)
}

// Waiting returns the state of a hold whose workflow has accepted a review and not finished it yet.
func (s *Service) Waiting(ctx context.Context, scope pg.Scope, id, resolution string) (*Pending, error) {
	h, err := GetHold(ctx, s.store.Q, scope, id)
	if err != nil {
		return nil, err
	}
	tally, err := tallyOf(ctx, s.store.Q, h, s.clock.Now())
	return pendingOf(id, resolution, tally), err
}

// pendingOf returns the response to a review that leaves the hold pending, with the teams that it requires.
func pendingOf(id, resolution string, t Tally) *Pending {
	out := PendingAt(id, resolution, t.Given, t.Required)
	out.Teams = t.Teams
	return out
}

// PendingAt returns the response to a review that leaves the hold pending.
func PendingAt(id, resolution string, given, required int) *Pending {
	return &Pending{
		Authorization: id, Resolution: resolution, ReviewStatus: string(models.HoldPending),
		Approvals: Approvals{Given: given, Required: required},
	}
}

// reviewRequest is a review to store for the workflow.
type reviewRequest struct {
	action, resolution string
	note               *string
	repeat             bool // the same review is recorded already and must be recorded again
}

// saveRequest stores the review under the digest of the whole request, which is all that the workflow receives of it. The time
// is part of the digest of a repeated review only: it makes the repetition a request of its own.
func (s *Service) saveRequest(ctx context.Context, p identity.Principal, h models.Hold, in reviewRequest) (Prepared, error) {
	var noteDigest *string
	if in.note != nil {
		d := canonical.DigestBytes([]byte(*in.note))
		noteDigest = &d
	}
	request := map[string]any{"move": in.resolution, "authorization": h.AuthorizationID, "actor": p.Actor(), "note": noteDigest}
	if in.repeat {
		request["at"] = apitime.Time(s.clock.Now())
	}
	body, err := canonical.JSON(request)
	if err != nil {
		return Prepared{}, fmt.Errorf("digest of a review: %w", err)
	}
	digest := sha256.Sum256(body)
	err = s.store.Write(ctx, func(q *pg.Q) error {
		if err := s.saveNote(ctx, q, p, h, in.note, noteDigest); err != nil {
			return err
		}
		return challenge.InsertMove(ctx, q, models.MoveRequest{
			Target: h.AuthorizationID, Digest: digest[:], EnvironmentID: h.EnvironmentID, AuthorizationID: h.AuthorizationID, Move: in.resolution, Actor: p.Actor(),
			RequestID: p.RequestID, NoteDigest: noteDigest, RequestedAt: s.clock.Now(),
		})
	})
	if err != nil {
		return Prepared{}, err
	}
	next, err := escalateAt(ctx, s.store.Q, h)
	return Prepared{Workflow: workflowInput(h, in.action, next), Request: hex.EncodeToString(digest[:]), Resolution: in.resolution}, err
}

// workflowInput returns what the workflow of a hold starts with.
func workflowInput(h models.Hold, action string, escalate time.Time) WorkflowInput {
	return WorkflowInput{
		Authorization: h.AuthorizationID, Environment: h.EnvironmentID, Action: action, RemindAt: h.RemindAt.UTC(), DueAt: h.DueAt.UTC(),
		EscalateAt: escalate,
	}
}

// WorkflowInput looks up what the workflow of a hold starts with, for the outbox relay. It returns false if the hold is settled
// or erased, so that no workflow is needed.
func (s *Service) WorkflowInput(ctx context.Context, environment, id string) (WorkflowInput, bool, error) {
	var c Case
	var next time.Time
	err := s.store.Write(ctx, func(q *pg.Q) (err error) {
		if c, err = lockCase(ctx, q, environment, id); err != nil {
			return err
		}
		next, err = escalateAt(ctx, q, c.Hold)
		return err
	})
	if errors.Is(err, pg.ErrNotFound) {
		return WorkflowInput{}, false, nil
	}
	return workflowInput(c.Hold, c.Parent.ActionKey, next), c.Hold.Status == models.HoldPending, err
}

// Receipt returns the stored ManualReviewReceipt of a hold that was resolved this way. It is refused if the hold was resolved
// differently, and unavailable while the record is pending, however late: a review that began in time may still commit.
func (s *Service) Receipt(ctx context.Context, scope pg.Scope, id string, review Prepared) (json.RawMessage, error) {
	h, err := GetHold(ctx, s.store.Q, scope, id)
	if err != nil {
		return nil, err
	}
	if h.Status == models.HoldPending {
		return nil, problem.NewUnavailable("The hold is not settled yet. Retry the request.", nil)
	}
	settled, err := s.settled(ctx, h, h.Status, review)
	return settled.Receipt, err
}
