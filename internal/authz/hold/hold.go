// Package hold implements the review of held decisions: the queue of reviewers, the use case of a review (Reviewer), and the
// moves of the state machine, each one conditional UPDATE that names the state it expects. The workflow that serialises the
// moves is in package workflows.
//
// Service starts no workflow and waits for none. A reviewer's note is sealed if the environment stores
// notes; otherwise only its digest is stored. Only reviewers approve a hold; time only expires it.
package hold

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/display"
	"github.com/countersign-dev/countersign/internal/authz/proof"
	"github.com/countersign-dev/countersign/internal/authz/reviewnote"
	"github.com/countersign-dev/countersign/internal/authz/settle"
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
	// BreakGlass approves the hold alone, as a member of the team that the policy names, with a note that says why.
	BreakGlass = "break_glass"
)

// Proofs restores the proof that a stored receipt of an approval was returned with (internal/authz/signing).
type Proofs interface {
	Restored(ctx context.Context, scope pg.Scope, authorization string, body []byte) ([]byte, error)
}

// Service queues holds for reviewers and makes their moves.
type Service struct {
	store    *pg.Store
	clock    clock.Clock
	decide   settle.Decider
	signable settle.Signable
	proofs   Proofs
	vault    display.Vault
	notes    reviewnote.Vault
}

// Deps are the dependencies of a Service.
type Deps struct {
	Store    *pg.Store
	Clock    clock.Clock
	Decide   settle.Decider   // makes the decision that follows an approval
	Signable settle.Signable  // nil: always
	Proofs   Proofs           // nil if no receipt has a proof
	Vault    display.Vault    // opens the details of a request
	Notes    reviewnote.Vault // seals the notes of reviews
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
	RemindAt time.Time `json:",omitzero"`
	DueAt    time.Time `json:",omitzero"`
	// EscalateAt is when the first escalation to another team is due; zero if there is none.
	EscalateAt time.Time `json:",omitzero"`
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
	detailed   bool            // the hold has steps, or requires approvals of teams
	step       int             // the position of the step that is open
}

// Vote is a review that a reviewer gives.
type Vote struct {
	Resolution string // Approve, Reject or BreakGlass
	Note       *string
	// Step is the name of the step that it is for; empty for the open one. A reviewer who has approved an earlier step must name it.
	Step string

	given *models.GivenReview // that is made; nil for a review that was not given before
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
	// Steps are those of the hold; omitted if it has none.
	Steps []Stage `json:"steps,omitempty"`
}

// Approvals counts the distinct approvals of a hold.
type Approvals struct {
	Given    int `json:"given"`
	Required int `json:"required"`
}

// done reports whether there is nothing left to do.
func (p Prepared) done() bool { return p.Receipt != nil || p.Pending != nil }

// PrepareReview checks that the caller may review the hold and stores the review for the workflow. Refusals are validation_error, not_held,
// review_expired, review_resolved, self_review, forbidden and, if the step is not open, conflict.
func (s *Service) PrepareReview(ctx context.Context, p identity.Principal, id string, vote Vote) (Prepared, error) {
	c, review, repeat, err := s.checkReview(ctx, p, id, vote)
	if err != nil || review.done() {
		return review, err
	}
	review.Request, err = s.saveRequest(ctx, p, c, reviewRequest{resolution: vote.Resolution, note: vote.Note, step: review.step, repeat: repeat, given: vote.given})
	return review, err
}

// checkReview checks that the caller may review the hold, and reports whether the review is recorded already and must be recorded again.
func (s *Service) checkReview(ctx context.Context, p identity.Principal, id string, vote Vote) (c Case, review Prepared, repeat bool, err error) {
	if err := checkReason(vote); err != nil {
		return c, review, false, err
	}
	c, err = readCase(ctx, s.store.Q, p.Store(), id, nil)
	if err != nil {
		return c, review, false, refuseUnheld(ctx, s.store.Q, p, id, err)
	}
	review = Prepared{
		Workflow: workflowInput(c), Resolution: vote.Resolution, withProof: p.MayReceiveProof(c.CredentialID), detailed: len(c.Steps)+len(c.Teams) > 0,
	}
	status, err := s.statusFor(ctx, p, c.Hold, vote.Resolution)
	if err != nil {
		return c, review, false, err
	}
	if status != models.HoldPending {
		review, err = s.settled(ctx, c, status, review)
		return c, review, false, err
	}
	if err := s.place(ctx, c, p, vote, &review); err != nil || review.Pending != nil {
		return c, review, false, err
	}
	if err := s.refuseReviewer(ctx, p, c, vote.Resolution, review.step); err != nil {
		return c, review, false, err
	}
	if review.Pending, repeat, err = s.counted(ctx, c, p, review); err != nil || review.Pending != nil {
		return c, review, false, err
	}
	return c, review, repeat, s.refuseUnsignable(ctx, c, vote.Resolution)
}

// place finds the step that a review is for. An approval of a step that the reviewer has approved already changes nothing; one of a step that is
// not open is refused. Without a name, a reviewer who has approved an earlier step repeats that approval.
func (s *Service) place(ctx context.Context, c Case, p identity.Principal, vote Vote, to *Prepared) error {
	if len(c.Steps) == 0 {
		return nil
	}
	tally, err := s.tally(ctx, c, s.clock.Now())
	if err != nil {
		return err
	}
	to.step = min(tally.Open, len(c.Steps)-1)
	if vote.Resolution != Approve {
		return nil
	}
	asked, named := to.step, true
	switch {
	case vote.given != nil:
		asked = vote.given.Step
	case vote.Step != "":
		asked = slices.IndexFunc(c.Steps, func(s models.HoldStep) bool { return s.Name == vote.Step })
	default:
		named = false
	}
	if slices.ContainsFunc(c.Reviews, func(r models.Review) bool {
		return r.Reviewer == p.Actor() && r.Resolution == Approve && r.Step != to.step && (r.Step == asked || !named)
	}) {
		to.Pending = pendingOf(c.AuthorizationID, vote.Resolution, tally)
		return nil
	}
	if asked != to.step {
		return notOpen(c.stepName(to.step))
	}
	return nil
}

// notOpen refuses an approval of a step that is not open.
func notOpen(open string) error {
	return problem.Newf(problem.Conflict, "The step that the approval is for is not open; the step %q is. Read the hold again, and approve that step if you may.", open)
}

// refuseReviewer refuses a review of a pending hold by one who may not give it.
func (s *Service) refuseReviewer(ctx context.Context, p identity.Principal, c Case, resolution string, step int) error {
	behind, err := identity.ActorsBehind(ctx, s.store.Q, p.Store(), p.Actor(), c.requester())
	if err != nil {
		return err
	}
	if err := s.refuseSelfReview(ctx, c, behind[p.Actor()], behind[c.requester()], resolution); err != nil {
		return err
	}
	if resolution == Reject {
		return nil
	}
	if err := errors.Join(c.verify(ctx, s.store.Q), settle.VerifyDecision(ctx, s.store.Q, c.EnvironmentID, c.AuthorizationID)); err != nil {
		return err
	}
	approver := Approver{Review: models.Review{Reviewer: p.Actor(), Principal: behind[p.Actor()].Principal}}
	if resolution == BreakGlass {
		return refuseBreakGlass(ctx, s.store.Q, c, voteOn(c, approver, step, s.clock.Now()))
	}
	if err := s.refuseOutsider(ctx, c, approver); err != nil {
		return err
	}
	return s.refuseUnconfirmed(ctx, c, approver)
}

// statusFor returns the status of the hold for a review. A due hold is expired, but not for a review that this reviewer
// requested before: the first request may be under way in time, and only the workflow knows.
func (s *Service) statusFor(ctx context.Context, p identity.Principal, h models.Hold, resolution string) (models.HoldStatus, error) {
	status := Effective(h, s.clock.Now())
	if status == h.Status {
		return status, nil
	}
	repeated, err := settle.MoveRequested(ctx, s.store.Q, models.MoveRequest{
		EnvironmentID: h.EnvironmentID, Target: h.AuthorizationID, Move: resolution, Actor: p.Actor(),
	})
	if repeated {
		status = h.Status
	}
	return status, err
}

// settled returns the stored receipt of a hold that is resolved the same way, and a refusal otherwise.
func (s *Service) settled(ctx context.Context, c Case, status models.HoldStatus, review Prepared) (Prepared, error) {
	if err := c.refuseSettled(status, review.Resolution); err != nil {
		return Prepared{}, err
	}
	if c.Receipt == nil {
		return Prepared{}, pg.ErrNotFound
	}
	out := Prepared{Receipt: c.Receipt, Resolution: review.Resolution}
	var err error
	if review.withProof && c.ChildAuthorizationID != nil && proof.Removed(c.Receipt) {
		out.Receipt, err = s.proofs.Restored(ctx, c.scope(), *c.ChildAuthorizationID, c.Receipt)
	}
	return out, err
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
func (s *Service) counted(ctx context.Context, c Case, p identity.Principal, review Prepared) (*Pending, bool, error) {
	resolution := review.Resolution
	before := slices.ContainsFunc(c.Reviews, func(r models.Review) bool {
		return r.Reviewer == p.Actor() && r.Resolution == Approve && r.Step == review.step
	})
	if c.ApprovalsRequired < 2 || resolution != Approve || !before {
		return nil, false, nil
	}
	tally, err := s.tally(ctx, c, s.clock.Now())
	if err == nil && tally.Given >= tally.Required {
		return nil, true, nil
	}
	return pendingOf(c.AuthorizationID, resolution, tally), false, err
}

// refuseUnsignable refuses an approval that may settle the hold while the decision that follows could not be signed.
func (s *Service) refuseUnsignable(ctx context.Context, c Case, resolution string) error {
	given := 1
	for _, r := range c.Reviews {
		if r.Resolution == Approve {
			given++
		}
	}
	if resolution == Reject || resolution == Approve && given < c.ApprovalsRequired {
		return nil
	}
	return s.signable.Check(ctx, c.scope(), c.Mode)
}

// Waiting returns the state of a hold whose workflow has accepted a review and not finished it yet.
func (s *Service) Waiting(ctx context.Context, scope pg.Scope, id, resolution string) (*Pending, error) {
	c, err := readCase(ctx, s.store.Q, scope, id, nil)
	if err != nil {
		return nil, err
	}
	tally, err := s.tally(ctx, c, s.clock.Now())
	return pendingOf(id, resolution, tally), err
}

// pendingOf returns the response to a review that leaves the hold pending, with the teams that it requires.
func pendingOf(id, resolution string, t Tally) *Pending {
	out := PendingAt(id, resolution, t.Given, t.Required)
	out.Teams, out.Steps = t.Teams, t.Stages
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
	resolution string
	note       *string
	step       int
	repeat     bool // the same review is recorded already and must be recorded again
	given      *models.GivenReview
}

// saveRequest stores the review under the digest of the whole request, which it returns and which is all that the workflow receives of it. The
// time is part of the digest of a repeated review, and of one that was given: it makes each a request of its own, whatever became of another.
func (s *Service) saveRequest(ctx context.Context, p identity.Principal, c Case, in reviewRequest) (string, error) {
	m := models.MoveRequest{
		Target: c.AuthorizationID, EnvironmentID: c.EnvironmentID, AuthorizationID: c.AuthorizationID, Move: in.resolution, Actor: p.Actor(),
		RequestID: p.RequestID, RequestedAt: s.clock.Now(), Step: in.step,
	}
	var note *models.ReviewNote
	if in.note != nil {
		digest := canonical.DigestBytes([]byte(*in.note))
		m.NoteDigest = &digest
		var err error
		if note, err = s.sealedNote(ctx, p, c.Hold, noted{*in.note, digest, in.resolution == BreakGlass}); err != nil {
			return "", err
		}
	}
	request := map[string]any{"move": in.resolution, "authorization": c.AuthorizationID, "actor": p.Actor(), "note": m.NoteDigest}
	if in.step > 0 {
		request["step"] = in.step
	}
	if in.repeat {
		request["at"] = apitime.Time(m.RequestedAt)
	}
	if in.given != nil {
		request["given_at"] = apitime.Time(in.given.GivenAt)
	}
	body, err := canonical.JSON(request)
	if err != nil {
		return "", fmt.Errorf("digest of a review: %w", err)
	}
	digest := sha256.Sum256(body)
	m.Digest = digest[:]
	return hex.EncodeToString(m.Digest), s.insertRequest(ctx, m, note, in.given)
}

// workflowInput returns what the workflow of a hold starts with.
func workflowInput(c Case) WorkflowInput {
	return WorkflowInput{
		Authorization: c.AuthorizationID, Environment: c.EnvironmentID, Action: c.ActionKey, RemindAt: c.RemindAt.UTC(), DueAt: c.DueAt.UTC(),
		EscalateAt: escalateAt(c),
	}
}

// WorkflowInput looks up what the workflow of a hold starts with, for the outbox relay. It returns false if the hold is settled
// or erased, so that no workflow is needed.
func (s *Service) WorkflowInput(ctx context.Context, environment, id string) (WorkflowInput, bool, error) {
	c, err := readCase(ctx, s.store.Q, pg.Scope{Environment: environment}, id, nil)
	if errors.Is(err, pg.ErrNotFound) {
		return WorkflowInput{}, false, nil
	}
	return workflowInput(c), c.Status == models.HoldPending, err
}

// Receipt returns the stored ManualReviewReceipt of a hold that was resolved this way. It is refused if the hold was resolved
// differently, and unavailable while the record is pending, however late: a review that began in time may still commit.
func (s *Service) Receipt(ctx context.Context, scope pg.Scope, id string, review Prepared) (json.RawMessage, error) {
	c, err := readCase(ctx, s.store.Q, scope, id, nil)
	if err != nil {
		return nil, err
	}
	if c.Status == models.HoldPending {
		return nil, problem.NewUnavailable("The hold is not settled yet. Retry the request.", nil)
	}
	settled, err := s.settled(ctx, c, c.Status, review)
	return settled.Receipt, err
}
