package action

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/authz/aggregate"
	"github.com/countersign-dev/countersign/internal/authz/annotation"
	"github.com/countersign-dev/countersign/internal/authz/display"
	"github.com/countersign-dev/countersign/internal/authz/lists"
	"github.com/countersign-dev/countersign/internal/authz/people"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/rules"
	"github.com/countersign-dev/countersign/internal/authz/storedvalues"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// cacheFor is how stale a cached policy may be if the notification of a change was lost.
const cacheFor = 5 * time.Second

// cacheMax bounds the cache, in bytes of stored schemas; a compiled schema is some fifty times as large. The fixed part of an
// action counts as cacheEach bytes.
const (
	cacheMax  = 4 << 20
	cacheEach = 2 << 10
	cacheRule = 1 << 10 // of a rule, whose program is some ten times as large
)

// InForce is an action with one version of its contract.
type InForce struct {
	Action models.Action
	// Version is the number of the policy version.
	Version int
	// Hash is the content hash of the contract.
	Hash     string
	Contract policy.Contract
	Display  display.Plan      // what a person is shown of a request
	Kept     storedvalues.Plan // the values of a request that are kept for simulations
	// Waiting are those that are kept of a request that waits: the rules that limit its resource read them again.
	Waiting storedvalues.Plan
	// Aggregates are the values of a request by which rules count.
	Aggregates aggregate.Plan
	People     people.Plan // the values of a request that name members of staff
	Rules      *rules.Set  // of the contract's requirements
	// Lists are those that the rules read, by name; the version and the number of entries may have changed.
	Lists  map[string]models.List
	schema contextSchema
	weight int // bytes in the cache
	// missing are the lists that the rules read and the environment does not have.
	missing []string
}

// ContextFaults returns the violations of the contract's context_schema in a request's context, and the amounts that cannot be added up.
func (f *InForce) ContextFaults(context map[string]any) []problem.Field {
	return append(f.schema.faults(context), amountFaults(f.Aggregates, context)...)
}

// amountFaults returns the amounts of a context that cannot be added up.
func amountFaults(plan aggregate.Plan, context map[string]any) []problem.Field {
	var out []problem.Field
	for _, fault := range plan.Faults(context) {
		loc := []any{"body", "context"}
		for _, step := range fault.Path {
			loc = append(loc, step)
		}
		out = append(out, problem.Field{Loc: loc, Msg: "context." + strings.Join(fault.Path, ".") + " " + fault.Why + ".", Type: "amount_invalid"})
	}
	return out
}

// AudienceAllowed reports whether the audience may receive proofs.
func (f *InForce) AudienceAllowed(audience string) bool {
	return contains(f.Contract.AllowedAudiences, audience)
}

// CallerAllowed reports whether the credential may authorize; an empty list permits every server credential.
func (f *InForce) CallerAllowed(credential string) bool {
	return len(f.Contract.AllowedCallers) == 0 || contains(f.Contract.AllowedCallers, credential)
}

func contains(list []string, s string) bool {
	for _, item := range list {
		if item == s {
			return true
		}
	}
	return false
}

// notice identifies an action in the cache and in notifications between replicas.
func notice(a models.Action) string { return a.EnvironmentID + " " + a.Key }

// InForce returns the action with this key and its active contract. It is refused with not_found if there is no such action, and
// with no_active_policy if the action has no active version.
func (s *Service) InForce(ctx context.Context, scope pg.Scope, key string) (*InForce, error) {
	name := scope.Environment + " " + key
	now := s.clock.Now()
	if f, until := s.cache.Get(name); now.Before(until) {
		return f, nil
	}
	return s.cache.Fetch(ctx, name, now.Add(cacheFor), func(ctx context.Context) (*InForce, error) { return s.lookup(ctx, scope, key) })
}

// lookup reads the action and its active contract.
func (s *Service) lookup(ctx context.Context, scope pg.Scope, key string) (*InForce, error) {
	a, err := actionByKey(ctx, s.store.Q, scope, key)
	if errors.Is(err, pg.ErrNotFound) {
		return nil, problem.NotFoundBy("action")
	}
	if err != nil {
		return nil, err
	}
	if a.ActivePolicyVersion == nil {
		return nil, problem.Newf(problem.NoActivePolicy, "The action %q has no active policy version: create one and activate it.", key)
	}
	f, err := s.At(ctx, s.store.Q, scope, a, *a.ActivePolicyVersion)
	if err != nil || len(f.missing) == 0 {
		return f, err
	}
	// No list that a version in force reads is deleted. Unless the version is another by now, someone else renamed or deleted it.
	now, err := actionByKey(ctx, s.store.Q, scope, key)
	if err == nil && now.ActivePolicyVersion != nil && *now.ActivePolicyVersion == f.Version {
		err = s.store.Missing(scope, "lists", scope.Environment+" "+f.missing[0]) // names are not unique
	}
	return f, err
}

// At returns an action with a given version of its contract.
func (s *Service) At(ctx context.Context, q *pg.Q, scope pg.Scope, a models.Action, version int) (*InForce, error) {
	v, err := PolicyVersion(ctx, q, scope, a.ID, version)
	if errors.Is(err, pg.ErrNotFound) {
		err = q.Missing(scope, "policy_versions", a.ID)
	}
	if err != nil {
		return nil, err
	}
	contract, err := Contract(v)
	if err != nil {
		return nil, err
	}
	schema, err := compileStored(v.ContextSchema)
	if err != nil {
		return nil, err
	}
	shown, err := display.Parse(v.ContextSchema)
	// A schema from before an annotation had a meaning shows and keeps nothing.
	var unusable *annotation.Fault
	if err != nil && !errors.As(err, &unusable) {
		return nil, err
	}
	values, err := storedvalues.Parse(v.ContextSchema)
	if err != nil && !errors.As(err, &unusable) {
		return nil, err
	}
	counted, err := aggregate.Parse(v.ContextSchema)
	if err != nil && !errors.As(err, &unusable) {
		return nil, err
	}
	named, err := people.Parse(v.ContextSchema)
	if err != nil && !errors.As(err, &unusable) {
		return nil, err
	}
	read, err := lists.ByName(ctx, q, scope, v.Lists)
	if err != nil {
		return nil, err
	}
	missing := slices.DeleteFunc(slices.Clone([]string(v.Lists)), func(name string) bool { _, there := read[name]; return there })
	set := rules.CompileStored(contract.Requirements.Rules, contract.ContextSchema)
	again := set.Recount()
	// The shape of a set grows with its rules and with the schema.
	weight := cacheEach + len(v.ContextSchema) + len(contract.Requirements.Rules)*cacheRule
	return &InForce{
		Rules: set, Waiting: values.With(again.Context, again.Resource),
		Action: a, Version: v.Version, Hash: v.ContentHash, Contract: contract, Display: shown, Kept: values, Aggregates: counted, People: named, Lists: read,
		schema: schema, weight: weight, missing: missing,
	}, nil
}

// forget drops the cached contract of an action that this process has changed.
func (s *Service) forget(a models.Action) { s.Forget(notice(a)) }

// Forget drops the cached action of a notification, or everything if the name is empty.
func (s *Service) Forget(name string) { s.cache.Forget(strings.TrimSpace(name)) }
