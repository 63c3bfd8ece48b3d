// Package consolequery runs the aggregated queries behind the pages of the review console: a decision with its chain and its
// reviewers, the timeline of a subject, the length of the queues.
//
// It writes nothing: every change that the console makes goes through the services that the API uses.
package consolequery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/display"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Reader runs the console's queries. It is safe for concurrent use.
type Reader struct {
	store          *pg.Store
	clock          clock.Clock
	authorizations *authorization.Service
}

// New returns a reader.
func New(st *pg.Store, c clock.Clock, authorizations *authorization.Service) *Reader {
	return &Reader{store: st, clock: c, authorizations: authorizations}
}

// Case is everything that the console shows of one decision. Templates of web/console name its fields.
type Case struct {
	Trace       authorization.Trace        // the decision as GET /authorizations/{id} returns it
	Explanation []policy.RequirementResult // every requirement of the policy with the value required and the value found
	Display     authorization.Display      // the text that the subject was asked to confirm, or would have been
	Account     audit.Decision             // the decision in its audit trail: evidence, policy, hold and reviews
	Hold        *models.Hold               // nil if the decision was not held
	RiskClass   string
	ActionID    string
	Outline     display.Outline // of the request; empty for an action that shows no details
	Asked       string          // the credential that requested the decision
	Chain       []ChainLink     // the decision with its follow-up decisions, in order
	Log         []audit.LogLine
	Altered     []audit.Finding   // where the chain's records contradict the sealed log
	Names       map[string]string // names of the staff who appear in the case, by id
}

// ChainLink is one decision of a chain: the first decision or a follow-up decision.
type ChainLink struct {
	ID          string
	At          string // RFC 3339
	Decision    string
	ReasonCodes []string
	Proof       *audit.Proof // nil if none was issued
	Why         string       // the cause in words, as the console shows it
	This        bool         // the decision that the case is about
}

// Case reads one decision of the scope with its chain. It returns the problem not_found if there is none.
func (r *Reader) Case(ctx context.Context, scope pg.Scope, id string) (Case, error) {
	trace, err := r.authorizations.Get(ctx, scope, id)
	if err != nil {
		return Case{}, err
	}
	trail, err := audit.TrailOf(ctx, r.store, scope, id, nil)
	if err != nil {
		return Case{}, notFound(err)
	}
	c := Case{Trace: trace, Log: trail.Log}
	if err := json.Unmarshal(trace.Explanation, &c.Explanation); err != nil {
		return c, fmt.Errorf("explanation of %s: %w", id, err)
	}
	for _, d := range trail.Decisions {
		if d.ID == id {
			c.Account, c.Asked = d, d.Credential
		}
		c.Altered = append(c.Altered, d.Contradictions...)
		c.Chain = append(c.Chain, ChainLink{ID: d.ID, At: d.At, Decision: d.Decision, ReasonCodes: d.ReasonCodes, Proof: d.Proof, Why: cause(d, trail.Decisions), This: d.ID == id})
	}
	if err := r.display(ctx, scope, &c); err != nil {
		return c, err
	}
	c.Names, err = r.names(ctx, scope, c)
	return c, err
}

// ActionNames returns the names of the environment's actions by their keys.
func (r *Reader) ActionNames(ctx context.Context, scope pg.Scope) (map[string]string, error) {
	return actionNames(ctx, r.store.Q, scope)
}

func cause(d audit.Decision, chain []audit.Decision) string {
	if d.Parent == nil {
		return "requested"
	}
	for _, p := range chain {
		switch {
		case p.ID != *d.Parent:
		case p.Hold != nil:
			return "after review"
		case p.Challenge != nil:
			return "after challenge"
		}
	}
	return "follow-up decision"
}

// display fills in what the subject saw if the decision was challenged, and otherwise what they would have seen; and the hold
// and the action of the case.
func (r *Reader) display(ctx context.Context, scope pg.Scope, c *Case) error {
	env, err := tenancy.GetEnvironment(ctx, r.store.Q, scope)
	if err != nil {
		return err
	}
	a := c.Account
	c.Display = authorization.Display{
		ActionKey: c.Trace.Action, ResourceType: a.ResourceType, ResourceDigest: a.ResourceDigest, ContextDigest: a.ContextDigest,
		Audience: a.Audience, RequestingApplication: env.RPName,
	}
	if a.Challenge != nil {
		if err := json.Unmarshal(a.Challenge.Display, &c.Display); err != nil {
			return fmt.Errorf("display of %s: %w", a.Challenge.ID, err)
		}
	}
	// The hold has the risk class as of the decision; the action's may have changed since.
	h, err := hold.GetHold(ctx, r.store.Q, scope, c.Trace.ID)
	switch {
	case errors.Is(err, pg.ErrNotFound):
	case err != nil:
		return err
	default:
		c.Hold, c.RiskClass = &h, h.RiskClass
	}
	act, err := actionOfDecision(ctx, r.store.Q, scope, c.Trace.ID)
	if err != nil {
		return err
	}
	c.ActionID = act.ID
	if shown := c.Trace.Display; shown != nil {
		c.Outline = display.Outlined(shown.Details)
	}
	if a.Challenge == nil {
		c.Display.Action, c.Display.Consequence = act.Name, act.Consequence
	}
	if c.RiskClass == "" {
		c.RiskClass = act.RiskClass
	}
	return nil
}

// names returns the names of the staff among the actors and reviewers of a case.
func (r *Reader) names(ctx context.Context, scope pg.Scope, c Case) (map[string]string, error) {
	var actors []string
	for _, l := range c.Log {
		actors = append(actors, l.Actor)
	}
	if h := c.Account.Hold; h != nil {
		for _, v := range h.Reviews {
			actors = append(actors, v.Reviewer)
		}
	}
	return r.Names(ctx, scope.Tenant, actors)
}

// Names returns the names of the staff among actors (person:<id>), by id. Other actors are ignored.
func (r *Reader) Names(ctx context.Context, tenant string, actors []string) (map[string]string, error) {
	var people []string
	for _, a := range actors {
		if id, ok := strings.CutPrefix(a, "person:"); ok {
			people = append(people, id)
		}
	}
	if len(people) == 0 {
		return map[string]string{}, nil
	}
	return staff.NamesOfPeople(ctx, r.store.Q, tenant, people)
}

// ActorNamed returns the actor whom a text names: an actor as it is, or the name of a person of the tenant. It is empty if that is no one's
// name or that of several people.
func (r *Reader) ActorNamed(ctx context.Context, tenant, text string) (string, error) {
	if text == "" || strings.Contains(text, ":") {
		return text, nil
	}
	found, err := staff.PeopleNamed(ctx, r.store.Q, tenant, text)
	if err != nil || len(found) != 1 {
		return "", err
	}
	return "person:" + found[0], nil
}

// notFound turns the store's error for a missing row into the problem that the caller gets.
func notFound(err error) error {
	if errors.Is(err, pg.ErrNotFound) {
		return problem.NewNotFound()
	}
	return err
}
