package try

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/signing"
	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
)

// The simulated payment. The audience does not exist.
const (
	actionKey  = "try.payment"
	audience   = "try-bank"
	resource   = "account"
	resourceID = "DE02-1203-0000-0000-2020-51"
	payment    = `{"amount":250,"currency":"EUR","payee":"Jürgen Groß"}` // canonical, so that it can be hashed as it is
)

// contextSchema defines how the payment is displayed to the user who confirms it.
const contextSchema = `{"type": "object", "properties": {
	"amount": {"type": "number", "x-countersign-display": {"label": "Amount", "format": "money", "currency": "/currency"}},
	"currency": {"type": "string"},
	"payee": {"type": "string", "x-countersign-display": {"label": "Payee", "format": "text", "title": true}}}}`

// requirements is the policy of the payment.
var requirements = policy.Requirements{
	Claims:      map[string]policy.Status{"operator_continuity": policy.Likely, "automation": policy.NotDetected},
	CoverageMin: policy.CoveragePartial, FreshnessMaxMS: 120_000, InsufficientEvidence: policy.Challenge,
	ChallengeMethods: []policy.Method{policy.SandboxConfirm}, MaxChallenges: 2,
}

func policyText() string {
	text, err := json.MarshalIndent(requirements.Resolve(policy.EnvironmentKind(models.Sandbox)), "", "  ")
	if err != nil {
		panic(err) // a value of this file
	}
	return string(text)
}

// offer creates the action with its policy if it does not exist.
func (p *Page) offer(ctx context.Context, who identity.Principal) error {
	p.offering.Lock()
	defer p.offering.Unlock()
	_, err := p.Actions.InForce(ctx, who.Store(), actionKey)
	var known *problem.Error
	if err == nil || !errors.As(err, &known) || known.Code != problem.NotFound {
		return err
	}
	kind := resource
	a, err := p.Actions.Create(ctx, who, action.Create{
		Key: actionKey, Name: "Send a simulated payment", Consequence: "Simulated money leaves a simulated account.",
		AllowedAudiences: []string{audience}, ResourceType: &kind, RiskClass: "elevated", ContextSchema: json.RawMessage(contextSchema),
	})
	if err != nil {
		return err
	}
	version, err := p.Actions.CreateVersion(ctx, who, a.ID, action.CreateVersion{Requirements: requirements})
	if err != nil {
		return err
	}
	if _, err := p.Actions.Activate(ctx, who, a.ID, version.Version); err != nil {
		return err
	}
	mode := models.ModeEnforce
	_, err = p.Actions.Update(ctx, who, a.ID, action.Change{Mode: &mode})
	return err
}

// pay requests a decision like a relying party.
func (p *Page) pay(c *fiber.Ctx) error {
	v, session, err := p.inSession(c)
	if err != nil {
		return err
	}
	ctx := request.Context(c)
	if err := p.offer(ctx, v.Principal); err != nil {
		return err
	}
	now := p.Clock.Now()
	asked := authorization.Request{
		Subject: v.subject.ExternalID, Action: actionKey, Resource: authorization.Resource{Type: resource, ID: resourceID}, Audience: audience,
		RequestedAt: now.Unix(), Nonce: rand.Text(), IdempotencyKey: rand.Text(), Session: &session,
		Context: json.RawMessage(payment),
	}
	decided, err := p.Authorizations.Authorize(ctx, v.Principal, asked, now)
	if err != nil {
		return err
	}
	var made struct{ ID string }
	if err := json.Unmarshal(decided.Body, &made); err != nil {
		return err
	}
	return p.sendDecision(c, v, made.ID, asked)
}

// decision returns a decision of the visitor, or its follow-up decision if there is one.
func (p *Page) decision(c *fiber.Ctx) error {
	v, err := p.visit(c)
	if err != nil {
		return err
	}
	ctx, id := request.Context(c), c.Query("id")
	filter := authorization.TraceFilter{Subject: v.subject.ExternalID, Action: actionKey}
	list, _, err := p.Authorizations.List(ctx, v.Store(), filter, pg.Page{Limit: 10})
	if err != nil {
		return err
	}
	for _, t := range list {
		if t.Parent != nil && *t.Parent == id {
			return p.sendDecision(c, v, t.ID, nil)
		}
	}
	return p.sendDecision(c, v, id, nil)
}

func (p *Page) sendDecision(c *fiber.Ctx, v visitor, id string, asked any) error {
	trace, err := p.Authorizations.GetFor(request.Context(c), v.Principal, id)
	if err == nil && trace.Subject != v.subject.ExternalID {
		err = problem.NewNotFound()
	}
	if err != nil {
		return err
	}
	return p.router.JSON(c, http.StatusOK, map[string]any{"trace": trace, "request": asked})
}

// confirm creates a link to the hosted page of the visitor's challenge.
func (p *Page) confirm(c *fiber.Ctx) error {
	v, in, err := visited[struct {
		Authorization string `json:"authorization"`
	}](p, c)
	if err != nil {
		return err
	}
	ctx := request.Context(c)
	trace, err := p.Authorizations.Get(ctx, v.Store(), in.Authorization)
	if err != nil {
		return err
	}
	if trace.Subject != v.subject.ExternalID || trace.Challenge == nil {
		return problem.NewNotFound()
	}
	link, err := p.Challenges.CreateLink(ctx, v.Principal, trace.Challenge.ID, challenge.LinkOptions{})
	if err != nil {
		return err
	}
	return p.router.JSON(c, http.StatusCreated, map[string]string{"url": link.URL})
}

// verify consumes a proof, as a relying party does before it acts.
func (p *Page) verify(c *fiber.Ctx) error {
	v, in, err := visited[struct {
		Proof string `json:"proof"`
	}](p, c)
	if err != nil {
		return err
	}
	ctx := request.Context(c)
	question := signing.Question{
		Proof: in.Proof, Audience: audience, Action: actionKey, ResourceType: resource, ResourceID: resourceID, Subject: v.subject.ExternalID,
		ContextDigest: canonical.DigestBytes([]byte(payment)),
	}
	verified, err := p.Proofs.Verify(ctx, v.Principal, question)
	if err != nil {
		return err
	}
	if verified.Claims == nil || verified.Claims.Subject != v.subject.ExternalID {
		return problem.NewNotFound() // a visitor cannot consume a different visitor's proof
	}
	if question.Consume = verified.Valid; question.Consume {
		if verified, err = p.Proofs.Verify(ctx, v.Principal, question); err != nil {
			return err
		}
	}
	return p.router.JSON(c, http.StatusOK, verified)
}
