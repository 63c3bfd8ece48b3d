package api

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/countersign-dev/countersign/internal/transport/request"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/workflows"
)

// challengeRuns are the runs of challenges (workflows.Client).
type challengeWorkflows interface {
	CompleteChallenge(ctx context.Context, r challenge.WorkflowInput, request string) (workflows.ChallengeResult, error)
	CancelChallenge(ctx context.Context, r challenge.WorkflowInput, request string) (workflows.ChallengeResult, error)
}

// ChallengeMoves completes and cancels challenges, for a credential or for a visitor of the challenge page.
type ChallengeMoves struct {
	Challenges *challenge.Service
	Workflows  challengeWorkflows
}

// challengeHandlers answer for challenges.
type challengeHandlers struct {
	ChallengeMoves
}

type challengeView struct {
	ID        string          `json:"id"`
	Status    string          `json:"status"`
	Methods   []string        `json:"methods"`
	ExpiresAt string          `json:"expires_at"`
	Display   json.RawMessage `json:"display"`
}

func viewChallenge(v challenge.View) challengeView {
	return challengeView{
		ID: v.ID, Status: string(v.Status), Methods: v.Methods, ExpiresAt: apitime.Time(v.ExpiresAt), Display: v.Display,
	}
}

func (h *challengeHandlers) get(c *fiber.Ctx) error {
	v, err := h.Challenges.Get(request.Context(c), principal(c).Store(), param(c, "challenge_id"))
	if err != nil {
		return err
	}
	return send(c, fiber.StatusOK, viewChallenge(v))
}

func (h *challengeHandlers) passkeyOptions(c *fiber.Ctx) error {
	options, err := h.Challenges.Options(request.Context(c), principal(c).Store(), param(c, "challenge_id"))
	if err != nil {
		return err
	}
	return send(c, fiber.StatusOK, map[string]any{"publicKey": options})
}

func (h *challengeHandlers) complete(c *fiber.Ctx) error {
	body, err := bind[struct {
		Method    string          `json:"method"`
		Assertion json.RawMessage `json:"assertion"`
	}](c)
	if err != nil {
		return err
	}
	receipt, err := h.Complete(request.Context(c), principal(c), param(c, "challenge_id"), body.Method, body.Assertion)
	if err != nil {
		return err
	}
	return send(c, fiber.StatusOK, receipt)
}

// Complete completes a challenge on behalf of the principal: what was sent is verified and kept, then the run makes the
// move. The same again answers the same receipt.
func (h ChallengeMoves) Complete(ctx context.Context, p identity.Principal, id, method string, assertion json.RawMessage) (*challenge.Receipt, error) {
	prepared, err := h.Challenges.PrepareCompletion(ctx, p, id, method, assertion)
	if err != nil || prepared.Receipt != nil {
		return prepared.Receipt, err
	}
	_, told := h.Workflows.CompleteChallenge(ctx, prepared.Workflow, prepared.Request)
	if told != nil && !lateOrLost(told) {
		return nil, told
	}
	// The receipt is read from the record: it is there if this request completed the challenge, now or by an earlier try.
	receipt, err := h.Challenges.Receipt(ctx, p.Store(), id, prepared.Request)
	switch {
	case err != nil || receipt != nil:
		return receipt, err
	case problem.As(told) != nil:
		return nil, told
	default:
		return nil, h.settled(ctx, p, id)
	}
}

// lateOrLost reports whether a run's error leaves it to the record to say what happened: it may be this very request that
// settled the challenge, by a step whose answer the run has lost.
func lateOrLost(err error) bool {
	return errors.Is(err, workflows.ErrClosed) || problem.Is(err, problem.ChallengeClosed) || problem.Is(err, problem.ChallengeExpired)
}

// settled is the refusal for a challenge that something else has settled.
func (h ChallengeMoves) settled(ctx context.Context, p identity.Principal, id string) error {
	v, err := h.Challenges.Get(ctx, p.Store(), id)
	switch {
	case err != nil:
		return err
	case v.Status == models.ChallengeExpired:
		return problem.New(problem.ChallengeExpired, "The challenge has expired.")
	case v.Status == models.ChallengeOpen:
		return problem.NewUnavailable("The challenge is not settled yet. Ask again.", nil)
	default:
		return problem.Newf(problem.ChallengeClosed, "The challenge is %s.", v.Status)
	}
}

// Cancel cancels a challenge on behalf of the principal and answers its status.
func (h ChallengeMoves) Cancel(ctx context.Context, p identity.Principal, id string) (string, error) {
	prepared, err := h.Challenges.PrepareCancel(ctx, p, id)
	if err != nil {
		return "", err
	}
	result, told := h.Workflows.CancelChallenge(ctx, prepared.Workflow, prepared.Request)
	if told == nil || !lateOrLost(told) {
		return result.Status, told
	}
	v, err := h.Challenges.Get(ctx, p.Store(), id)
	switch {
	case err != nil:
		return "", err
	case v.Status == models.ChallengeCancelled:
		return string(v.Status), nil // what was asked for is so
	case problem.As(told) != nil:
		return "", told
	default:
		return "", h.settled(ctx, p, id)
	}
}

func (h *challengeHandlers) cancel(c *fiber.Ctx) error {
	id := param(c, "challenge_id")
	status, err := h.Cancel(request.Context(c), principal(c), id)
	if err != nil {
		return err
	}
	return send(c, fiber.StatusOK, map[string]string{"id": id, "status": status})
}

func (h *challengeHandlers) link(c *fiber.Ctx) error {
	body, err := bind[struct {
		ReturnURL string `json:"return_url"`
	}](c)
	if err != nil {
		return err
	}
	l, err := h.Challenges.CreateLink(request.Context(c), principal(c), param(c, "challenge_id"), body.ReturnURL)
	if err != nil {
		return err
	}
	return send(c, fiber.StatusCreated, map[string]string{"url": l.URL, "expires_at": apitime.Time(l.ExpiresAt)})
}
