// Package action administers protected actions and their policy versions, and returns, from a cache, the active contract of an
// action. It decides nothing: package policy does. The content of a policy version never changes after its creation; only its
// status does, from draft to active to retired.
package action

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/display"
	"github.com/countersign-dev/countersign/internal/platform/cache"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/displaytext"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Defaults of ActionCreate in the contract.
const (
	defaultRiskClass    = "high"
	defaultResourceType = "resource"
	defaultProofTTL     = 300 // seconds
)

// Service administers actions and policies.
type Service struct {
	store *pg.Store
	clock clock.Clock
	cache cache.Cache[*InForce] // of active contracts, by notice
}

// New returns a Service.
func New(st *pg.Store, c clock.Clock) *Service {
	return &Service{store: st, clock: c, cache: cache.Cache[*InForce]{Max: cacheMax, Weigh: func(f *InForce) int { return f.weight }}}
}

// Create is the contract's ActionCreate; nil and empty fields take the defaults.
type Create struct {
	// Key is dotted lower case, such as payments.transfer, and unique in the environment.
	Key  string `json:"key"`
	Name string `json:"name"`
	// Consequence states what happens if the wrong user performs the action. It is shown in challenges.
	Consequence string `json:"consequence"`
	// Labels are name and consequence in other languages, by language tag.
	Labels map[string]models.ActionText `json:"labels"`
	// AllowedAudiences may receive proofs; at least one.
	AllowedAudiences []string `json:"allowed_audiences"`
	// AllowedCallers are credential ids; empty permits every server credential of the environment.
	AllowedCallers []string `json:"allowed_callers"`
	// ContextSchema is a JSON Schema 2020-12 of an object; omitted is {}.
	ContextSchema json.RawMessage `json:"context_schema"`
	// ProofTTLSeconds is 30 to 900; 0 is the default, 300.
	ProofTTLSeconds int `json:"proof_ttl_seconds"`
	// ResourceType is the only type of resource that requests may name.
	ResourceType *string `json:"resource_type"`
	// RiskClass is low, elevated, high or critical. It classifies holds for reviewers and has no effect on decisions.
	RiskClass string `json:"risk_class"`
}

// checkLabels checks the texts in other languages.
func checkLabels(labels map[string]models.ActionText) error {
	for tag, text := range labels {
		if !display.IsLanguage(tag) {
			return problem.Invalid([]any{"body", "labels", tag}, fmt.Sprintf("labels has %q, which must be a language tag such as de or pt-BR.", tag), "value_error")
		}
		for field, value := range map[string]string{"name": text.Name, "consequence": text.Consequence} {
			if fault := displaytext.Fault(value); fault != "" {
				return problem.Invalid([]any{"body", "labels", tag, field}, fmt.Sprintf("labels.%s.%s must not contain %s.", tag, field, fault), displaytext.FaultType)
			}
		}
	}
	return nil
}

// checkTexts checks the texts of an action that people read before they approve a request; nil is an omitted text.
func checkTexts(name, consequence, resourceType *string, audiences []string) error {
	for field, text := range map[string]*string{"name": name, "consequence": consequence, "resource_type": resourceType} {
		if text == nil {
			continue
		}
		if err := displaytext.Check(field, *text); err != nil {
			return err
		}
	}
	return displaytext.CheckAll("allowed_audiences", audiences)
}

// Create creates an action in mode test without an active policy. A key that exists is refused with action_key_exists.
func (s *Service) Create(ctx context.Context, p identity.Principal, in Create) (models.Action, error) {
	if err := checkTexts(&in.Name, &in.Consequence, in.ResourceType, in.AllowedAudiences); err != nil {
		return models.Action{}, err
	}
	if err := checkLabels(in.Labels); err != nil {
		return models.Action{}, err
	}
	schema, err := checkContextSchema(in.ContextSchema)
	if err != nil {
		return models.Action{}, err
	}
	now := s.clock.Now()
	a := models.Action{
		ID: ids.New(ids.Action), TenantID: p.TenantID, EnvironmentID: p.EnvironmentID, Key: in.Key, Name: in.Name,
		Consequence: in.Consequence, RiskClass: in.RiskClass, ResourceType: defaultResourceType, ContextSchema: schema,
		Mode: models.ModeTest, AllowedAudiences: in.AllowedAudiences, AllowedCallers: in.AllowedCallers,
		ProofTTLSeconds: in.ProofTTLSeconds, CreatedAt: now, UpdatedAt: now,
	}
	if in.ResourceType != nil {
		a.ResourceType = *in.ResourceType
	}
	if a.RiskClass == "" {
		a.RiskClass = defaultRiskClass
	}
	if a.ProofTTLSeconds == 0 {
		a.ProofTTLSeconds = defaultProofTTL
	}
	if len(in.Labels) > 0 {
		if a.Labels, err = json.Marshal(in.Labels); err != nil {
			return a, err
		}
	}
	err = s.store.Write(ctx, func(q *pg.Q) error {
		if err := createAction(ctx, q, a); err != nil {
			return err
		}
		return events.Append(ctx, q, entry(p, a, events.ActionCreatedData{ActionID: a.ID, Mode: string(a.Mode)}, now))
	})
	if pg.Violates(err, "actions_key") {
		return a, problem.Newf(problem.ActionKeyExists, "An action with the key %q exists in this environment.", in.Key)
	}
	return a, err
}

// Get returns one action.
func (s *Service) Get(ctx context.Context, scope pg.Scope, id string) (models.Action, error) {
	a, err := GetAction(ctx, s.store.Q, scope, id)
	if errors.Is(err, pg.ErrNotFound) {
		return a, problem.NewNotFound()
	}
	return a, err
}

// List returns the actions that are not archived, newest first, and the cursor of the next page.
func (s *Service) List(ctx context.Context, scope pg.Scope, p pg.Page) ([]models.Action, string, error) {
	return listActions(ctx, s.store.Q, scope, p)
}

// Archive archives an action: it is not listed any more, its key can be reused, and its decisions stay readable.
func (s *Service) Archive(ctx context.Context, p identity.Principal, id string) error {
	now := s.clock.Now()
	var a models.Action
	err := s.store.Write(ctx, func(q *pg.Q) error {
		q = q.AsStored()
		var err error
		if a, err = LockAction(ctx, q, p.Store(), id); errors.Is(err, pg.ErrNotFound) {
			return problem.NewNotFound()
		} else if err != nil {
			return err
		}
		if _, err := archiveAction(ctx, q, p.Store(), id, now); err != nil {
			return err
		}
		if err := events.Append(ctx, q, entry(p, a, events.ActionArchivedData{ActionID: id}, now)); err != nil {
			return err
		}
		return q.Notify(ctx, pg.ChannelPolicy, notice(a))
	})
	s.forget(a)
	return err
}
