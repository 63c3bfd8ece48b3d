package api

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/api/metrics"
	"github.com/countersign-dev/countersign/api/middleware"
	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
)

// accessHandlers serves the OpenID Authorization API 1.0 (AuthZEN). Every evaluation is a decision of
// authorization.Service.Authorize; nothing is decided here.
type accessHandlers struct {
	Actions        *action.Service
	Authorizations *authorization.Service
	Challenges     *challenge.Service
	Clock          clock.Clock
	Log            *slog.Logger
	BaseURL        string
	contract       middleware.Contract
	metrics        *metrics.Metrics
	takeQuota      func(c *fiber.Ctx, p identity.Principal) error
}

// The operation whose schema each evaluation of a batch must match.
const evaluateAccess = "evaluateAccess"

// The paths of the API, which its metadata names.
const (
	pathAccess      = "/access/v1/evaluation"
	pathAccessBatch = "/access/v1/evaluations"
)

// The values of options.evaluations_semantic that end a batch early.
const (
	denyOnFirstDeny     = "deny_on_first_deny"
	permitOnFirstPermit = "permit_on_first_permit"
)

// metadata serves the endpoints. Search is not supported, so it has none.
func (h *accessHandlers) metadata(c *fiber.Ctx) error {
	c.Set(fiber.HeaderCacheControl, "public, max-age=300")
	return c.Status(fiber.StatusOK).JSON(map[string]string{
		"policy_decision_point":       h.BaseURL,
		"access_evaluation_endpoint":  h.BaseURL + pathAccess,
		"access_evaluations_endpoint": h.BaseURL + pathAccessBatch,
	})
}

// one handles a single evaluation.
func (h *accessHandlers) one(c *fiber.Ctx) error {
	out, err := h.evaluate(c, request.Decoded(c))
	if err != nil {
		p := request.ProblemOf(middleware.AsBadRequest(err))
		if !decidesFalse(p) {
			return err
		}
		out = refused(c, p)
	}
	return c.Status(fiber.StatusOK).JSON(out)
}

// batch handles several evaluations in order; without any, the request is a single one.
func (h *accessHandlers) batch(c *fiber.Ctx) error {
	body := request.Decoded(c)
	items, _ := body["evaluations"].([]any)
	if len(items) == 0 {
		if err := h.contract.Check(evaluateAccess, merged(body, nil)); err != nil {
			return middleware.AsBadRequest(err)
		}
		return h.one(c)
	}
	semantic := ""
	if options, ok := body["options"].(map[string]any); ok {
		semantic, _ = options["evaluations_semantic"].(string)
	}
	out := make([]accessEvaluation, 0, len(items))
	for i, item := range items {
		fields, _ := item.(map[string]any)
		e := h.item(c, i, merged(body, fields))
		out = append(out, e)
		if semantic == denyOnFirstDeny && !e.Decision || semantic == permitOnFirstPermit && e.Decision {
			break
		}
	}
	return c.Status(fiber.StatusOK).JSON(map[string]any{"evaluations": out})
}

// item evaluates one item of a batch. The request itself has paid for the first one. A failure is the item's own: the
// decisions before it stand, and some have a proof.
func (h *accessHandlers) item(c *fiber.Ctx, index int, value map[string]any) accessEvaluation {
	err := h.contract.Check(evaluateAccess, value)
	if err == nil && index > 0 {
		err = h.takeQuota(c, request.Principal(c))
	}
	var out accessEvaluation
	if err == nil {
		out, err = h.evaluate(c, value)
	}
	if err == nil {
		return out
	}
	p := request.ProblemOf(middleware.AsBadRequest(err))
	if !decidesFalse(p) {
		request.MarkUnstored(c) // a repeat may be decided
	}
	if problem.Of(p.Code).Status >= fiber.StatusInternalServerError {
		h.Log.LogAttrs(request.Context(c), slog.LevelError, "an evaluation of a batch failed",
			slog.String("request_id", request.ID(c)), slog.Int("index", index), slog.String("error", err.Error()))
	}
	return refused(c, p)
}

// evaluate decides one request that matches the contract.
func (h *accessHandlers) evaluate(c *fiber.Ctx, value map[string]any) (accessEvaluation, error) {
	ctx, p, start := request.Context(c), request.Principal(c), h.Clock.Now()
	in, err := readAccess(value)
	if err != nil {
		return accessEvaluation{}, err
	}
	force, err := h.find(ctx, p, in)
	if err != nil {
		return accessEvaluation{}, err
	}
	r, err := in.request(force, start)
	if err != nil {
		return accessEvaluation{}, err
	}
	if followUp, found, err := h.Authorizations.Collect(ctx, p, force, r, in.options.Authorization); err != nil || found {
		return h.answer(ctx, p, followUp), err
	}
	if r.Nonce == "" {
		r.Nonce = rand.Text()
	}
	decided, err := h.Authorizations.Authorize(ctx, p, r, start)
	if err != nil {
		return accessEvaluation{}, err
	}
	h.metrics.Decided(p.EnvironmentID, decided, h.Clock.Now().Sub(start))
	var d authorization.Response
	if err := json.Unmarshal(decided.Body, &d); err != nil {
		return accessEvaluation{}, err
	}
	return h.answer(ctx, p, d), nil
}

// find returns the action that a request names: the one with the name as its key, or with the key "<resource type>.<name>" if
// that one does not exist or is for resources of a different type.
func (h *accessHandlers) find(ctx context.Context, p identity.Principal, in accessRequest) (*action.InForce, error) {
	direct, err := h.Actions.InForce(ctx, p.Store(), in.Action.Name)
	if err == nil && direct.Action.ResourceType == in.Resource.Type {
		return direct, nil
	}
	if err != nil && !problem.Is(err, problem.NotFound) {
		return nil, err
	}
	typed, second := h.Actions.InForce(ctx, p.Store(), in.Resource.Type+"."+in.Action.Name)
	switch {
	case !problem.Is(second, problem.NotFound):
		return typed, second
	case err == nil:
		return direct, nil // Authorize refuses the type of the resource
	}
	return nil, problem.New(problem.NotFound, "action.name must be the key of an action of this environment, with or without the prefix \"<resource.type>.\".")
}

// answer returns a decision in the form of an evaluation.
func (h *accessHandlers) answer(ctx context.Context, p identity.Principal, d authorization.Response) accessEvaluation {
	out := accessEvaluation{Decision: d.Decision == policy.Allow, Context: accessContext{
		Authorization: d.ID, Effect: string(d.Decision), Mode: string(d.Mode), ReasonCodes: d.ReasonCodes,
		ReasonUser: &accessReason{d.HumanReadable.Detail}, Proof: d.Proof, ProofID: d.ProofID,
	}}
	if d.Challenge != nil {
		out.Context.StepUp = h.stepUp(ctx, p, d.Challenge)
	}
	if d.Decision == policy.Hold && d.Mode != shadow {
		out.Context.Review = &accessReview{Status: "pending", URL: h.BaseURL + "/api/v1/authorizations/" + d.ID}
	}
	return out
}

// stepUp describes a challenge, with a link to its hosted page. The decision stands if no link can be made now: the relying
// party can create one.
func (h *accessHandlers) stepUp(ctx context.Context, p identity.Principal, d *authorization.ChallengeDescriptor) *accessStepUp {
	out := &accessStepUp{Challenge: d.ID, ExpiresAt: d.ExpiresAt, Methods: []string{}}
	for _, m := range d.Methods {
		out.Methods = append(out.Methods, string(m))
	}
	if p.Require(models.PermissionChallenges) != nil {
		return out // as for createChallengeLink
	}
	link, err := h.Challenges.CreateLink(ctx, p, d.ID, challenge.LinkOptions{})
	if err != nil {
		h.Log.LogAttrs(ctx, slog.LevelWarn, "no link was made for a challenge",
			slog.String("request_id", p.RequestID), slog.String("challenge", d.ID), slog.String("error", err.Error()))
		return out
	}
	out.URL = link.URL
	return out
}
