package challenge

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/aggregate"
	"github.com/countersign-dev/countersign/internal/authz/settle"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// WorkflowInput is the input of the workflow of a challenge.
type WorkflowInput struct {
	Challenge string
	// Authorization is the decision that opened the challenge.
	Authorization string
	Environment   string
	// Action is the action's key.
	Action string
	// ExpiresAt is in UTC.
	ExpiresAt time.Time `json:",omitzero"`
}

// Prepared is a request that is ready for the workflow, or the receipt of the same request that completed the challenge.
type Prepared struct {
	Workflow WorkflowInput
	Request  string // hex digest of the whole request
	Receipt  *Receipt
}

// Receipt is the contract's ChallengeCompletionReceipt. It does not contain the follow-up decision, which is for the relying
// party only.
type Receipt struct {
	Challenge string `json:"challenge"`
	// Status is always completed.
	Status string `json:"status"`
	// Authorization is the id of the follow-up decision. The receipt does not say what was decided.
	Authorization string `json:"authorization"`
	// Method is the one that completed the challenge.
	Method      string     `json:"method"`
	CompletedAt *time.Time `json:"-"`
}

// PrepareCompletion verifies the user's response and stores the verified request for the workflow. A refused assertion is
// counted; the fifth fails the challenge. Repeating the request that completed the challenge returns its receipt.
func (s *Service) PrepareCompletion(ctx context.Context, p identity.Principal, id, method string, assertion json.RawMessage) (Prepared, error) {
	assertion = relevantAssertion(method, assertion)
	c, err := readCase(ctx, s.store.Q, p.Store(), id, nil)
	if err != nil {
		return Prepared{}, err
	}
	digest, err := requestDigest(moveComplete, id, method, assertion)
	if err != nil {
		return Prepared{}, err
	}
	// A repetition must return the receipt even though the assertion could not be verified a second time.
	if r := receiptOf(c.Challenge, digest); r != nil {
		return Prepared{Receipt: r}, nil
	}
	if err := s.refuseUnlessOpen(ctx, p, c.Challenge, moveComplete); err != nil {
		return Prepared{}, err
	}
	if err := c.verify(ctx, s.store.Q); err != nil {
		return Prepared{}, err
	}
	if err := completable(c.Challenge, p, method, assertion); err != nil {
		return Prepared{}, err
	}
	if err := s.requireShown(ctx, c.Challenge); err != nil {
		return Prepared{}, err
	}
	if err := s.signable.Check(ctx, p.Store(), c.Mode); err != nil {
		return Prepared{}, err
	}
	request := models.MoveRequest{
		Target: c.ID, Digest: digest, EnvironmentID: c.EnvironmentID, AuthorizationID: c.AuthorizationID, Move: moveComplete, Actor: p.Actor(),
		RequestID: p.RequestID, Method: &method, RequestedAt: s.clock.Now(),
	}
	if method == MethodPasskey {
		key, err := s.assertions.VerifyAssertion(ctx, p.Store(), c.Challenge, assertion, s.clock.Now())
		if problem.Is(err, problem.ChallengeClosed) { // by the same request, it may be: it has its receipt now
			return s.PrepareCompletion(ctx, p, id, method, assertion)
		}
		if err != nil {
			return Prepared{}, s.countRefusal(ctx, p, c, err)
		}
		request.PasskeyID, request.SignCount, request.BackupState = &key.ID, &key.SignCount, &key.BackupState
	}
	return s.saveRequest(ctx, c, request)
}

// relevantAssertion drops an assertion that the method does not use, so that it cannot turn one request into two.
func relevantAssertion(method string, assertion json.RawMessage) json.RawMessage {
	if method != MethodPasskey || string(bytes.TrimSpace(assertion)) == "null" {
		return nil
	}
	return assertion
}

// The moves that a caller may request, as they are stored.
const (
	moveComplete = "complete"
	moveCancel   = "cancel"
)

// refuseUnlessOpen refuses a move of a challenge that is settled or due. A due challenge may be settled yet by the same move
// that this caller requested before: the first request may be under way in time, and only the workflow knows.
func (s *Service) refuseUnlessOpen(ctx context.Context, p identity.Principal, c models.Challenge, move string) error {
	status := Effective(c, s.clock.Now())
	if status == c.Status {
		return refuseSettled(status)
	}
	repeated, err := settle.MoveRequested(ctx, s.store.Q, models.MoveRequest{EnvironmentID: c.EnvironmentID, Target: c.ID, Move: move, Actor: p.Actor()})
	if err != nil || repeated {
		return err
	}
	return refuseSettled(status)
}

// completable refuses a method that is not available.
func completable(c models.Challenge, p identity.Principal, method string, assertion json.RawMessage) error {
	if method == MethodSandboxConfirm && p.Kind != models.Sandbox {
		return problem.New(problem.SandboxOnly, "sandbox_confirm exists in sandbox environments only.")
	}
	if err := offered(c, method); err != nil {
		return err
	}
	if method == MethodPasskey && len(assertion) == 0 {
		return problem.Invalid([]any{"body", "assertion"}, "assertion is required for the method passkey.", "missing")
	}
	return nil
}

// PrepareCancel stores the request to cancel the challenge for the workflow.
func (s *Service) PrepareCancel(ctx context.Context, p identity.Principal, id string) (Prepared, error) {
	c, err := readCase(ctx, s.store.Q, p.Store(), id, nil)
	if err != nil {
		return Prepared{}, err
	}
	if err := s.refuseUnlessOpen(ctx, p, c.Challenge, moveCancel); err != nil {
		return Prepared{}, err
	}
	digest, err := requestDigest(moveCancel, id, "", nil)
	if err != nil {
		return Prepared{}, err
	}
	return s.saveRequest(ctx, c, models.MoveRequest{
		Target: c.ID, Digest: digest, EnvironmentID: c.EnvironmentID, AuthorizationID: c.AuthorizationID, Move: moveCancel, Actor: p.Actor(),
		RequestID: p.RequestID, RequestedAt: s.clock.Now(),
	})
}

// saveRequest stores a request and returns it ready for the workflow.
func (s *Service) saveRequest(ctx context.Context, c Case, request models.MoveRequest) (Prepared, error) {
	return Prepared{Workflow: workflowInput(c), Request: hex.EncodeToString(request.Digest)}, settle.InsertMove(ctx, s.store.Q, request)
}

// workflowInput returns what the workflow of a challenge starts with.
func workflowInput(c Case) WorkflowInput {
	return WorkflowInput{
		Challenge: c.ID, Authorization: c.AuthorizationID, Environment: c.EnvironmentID, Action: c.ActionKey, ExpiresAt: c.ExpiresAt.UTC(),
	}
}

// WorkflowInput looks up what the workflow of a challenge starts with, for the outbox relay. It returns false if the challenge
// is settled or erased, so that no workflow is needed.
func (s *Service) WorkflowInput(ctx context.Context, environment, id string) (WorkflowInput, bool, error) {
	c, err := readCase(ctx, s.store.Q, pg.Scope{Environment: environment}, id, nil)
	if notFound(err) {
		return WorkflowInput{}, false, nil
	}
	return workflowInput(c), c.Status == models.ChallengeOpen, err
}

// Receipt returns the receipt of a request that completed the challenge, and nil if it did not.
func (s *Service) Receipt(ctx context.Context, scope pg.Scope, id, request string) (*Receipt, error) {
	c, err := GetChallenge(ctx, s.store.Q, scope, id)
	if err != nil {
		return nil, err
	}
	digest, err := hex.DecodeString(request)
	if err != nil {
		return nil, err
	}
	return receiptOf(c, digest), nil
}

// receiptAfter is Receipt, with the refusal of a challenge that this request did not complete.
func (s *Service) receiptAfter(ctx context.Context, scope pg.Scope, id, request string, closed bool) (*Receipt, error) {
	receipt, err := s.Receipt(ctx, scope, id, request)
	if err == nil && receipt == nil {
		_, err = s.settledOtherwise(ctx, scope, id, closed)
	}
	return receipt, err
}

// settledOtherwise returns the status of a challenge that this request did not settle, and the refusal. While the record is open,
// however late, the request is not refused: a step that began in time may still commit, unless the workflow has closed.
func (s *Service) settledOtherwise(ctx context.Context, scope pg.Scope, id string, closed bool) (models.ChallengeStatus, error) {
	c, err := GetChallenge(ctx, s.store.Q, scope, id)
	if err != nil {
		return "", err
	}
	status := c.Status
	if closed {
		status = Effective(c, s.clock.Now())
	}
	if status == models.ChallengeOpen {
		return status, problem.NewUnavailable("The challenge is not settled yet. Retry the request.", nil)
	}
	return status, refuseSettled(status)
}

// receiptOf returns the receipt if the challenge was completed by the request with this digest, and nil otherwise.
func receiptOf(c models.Challenge, digest []byte) *Receipt {
	if c.Status != models.ChallengeCompleted || !bytes.Equal(c.CompletionHash, digest) || c.ChildAuthorizationID == nil || c.MethodUsed == nil {
		return nil
	}
	return &Receipt{Challenge: c.ID, Status: string(c.Status), Authorization: *c.ChildAuthorizationID, Method: *c.MethodUsed, CompletedAt: c.SettledAt}
}

// RefusedAssertion returns the refusal of an assertion, and nil for every other error: only such a refusal counts as an attempt.
func RefusedAssertion(err error) *problem.Error {
	if e := problem.As(err); e != nil && strings.HasPrefix(string(e.Code), "assertion_") {
		return e
	}
	return nil
}

// countRefusal counts a refused assertion and returns the refusal. Errors that are no refusal are not counted.
func (s *Service) countRefusal(ctx context.Context, p identity.Principal, c Case, refusal error) error {
	e := RefusedAssertion(refusal)
	if e == nil {
		return refusal
	}
	err := s.store.Write(ctx, func(q *pg.Q) error {
		now := s.clock.Now()
		failures, failed, err := failChallenge(ctx, q, p.Store(), c.ID, MaxFailures, now)
		if err != nil || failures == 0 {
			return err
		}
		data := events.ChallengeFailedData{Challenge: c.ID, Failures: &failures, Reason: string(e.Code)}
		entry := c.entry(now, p.Actor(), events.ChallengeAttemptFailedData(data))
		entry.RequestID = p.RequestID
		if !failed {
			return events.Append(ctx, q, entry)
		}
		entry.Data = data
		if err := EndVoided(ctx, q, c.scope(), "challenges", now, []Voided{{ID: c.ID, ExpiresAt: c.ExpiresAt}}); err != nil {
			return err
		}
		if err := aggregate.Release(ctx, q, c.EnvironmentID, now, c.AuthorizationID); err != nil {
			return err
		}
		if err := events.Append(ctx, q, entry); err != nil {
			return err
		}
		return outbox.Add(ctx, q, outbox.Item{
			Topic: outbox.TopicChallengeSettled, Environment: c.EnvironmentID, Ref: c.ID, At: now,
		})
	})
	if err != nil {
		return err
	}
	return refusal
}
