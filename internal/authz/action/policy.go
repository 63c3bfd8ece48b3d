package action

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/lists"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/rules"
	"github.com/countersign-dev/countersign/internal/authz/storedvalues"
	"github.com/countersign-dev/countersign/internal/platform/displaytext"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// CreateVersion is the contract's PolicyVersionCreate. Nil fields are copied from the active version, or from the action if no
// version is active yet.
type CreateVersion struct {
	// Requirements are resolved to their defaults before they are stored.
	Requirements     policy.Requirements `json:"requirements"`
	AllowedAudiences []string            `json:"allowed_audiences"`
	AllowedCallers   []string            `json:"allowed_callers"`
	ContextSchema    json.RawMessage     `json:"context_schema"`
	// ProofTTLSeconds is 30 to 900.
	ProofTTLSeconds *int `json:"proof_ttl_seconds"`
	// KeepRead marks the values that the rules read as kept, so that a later version can be tried on the decisions.
	KeepRead bool `json:"-"`
	// Reason says why the version is made; it is not copied from the active version.
	Reason string `json:"reason"`
}

// CreateVersion creates a draft.
func (s *Service) CreateVersion(ctx context.Context, p identity.Principal, actionID string, in CreateVersion) (models.PolicyVersion, error) {
	kind := policy.EnvironmentKind(p.Kind)
	if err := errors.Join(checkTexts(nil, nil, nil, in.AllowedAudiences), CheckReason(in.Reason)); err != nil {
		return models.PolicyVersion{}, err
	}
	if err := checkRequirements(in.Requirements, kind); err != nil {
		return models.PolicyVersion{}, err
	}
	if len(in.ContextSchema) > 0 && string(in.ContextSchema) != "null" {
		if _, err := checkContextSchema(in.ContextSchema); err != nil {
			return models.PolicyVersion{}, err
		}
	}
	var v models.PolicyVersion
	now := s.clock.Now()
	err := s.store.Write(ctx, func(q *pg.Q) error {
		a, err := LockAction(ctx, q, p.Store(), actionID)
		if errors.Is(err, pg.ErrNotFound) {
			return problem.NewNotFound()
		}
		if err != nil {
			return err
		}
		if v, err = s.draft(ctx, q, p, a, in, now); err != nil {
			return err
		}
		if err := createPolicyVersion(ctx, q, v); err != nil {
			return err
		}
		return events.Append(ctx, q, entry(p, a, versionData(v), now))
	})
	return v, err
}

// maxReason is the maximum length of a reason in characters.
const maxReason = 500

// CheckReason checks a text that says why a change is made. It may have several lines.
func CheckReason(text string) error {
	if n := utf8.RuneCountInString(text); n > maxReason {
		return problem.Invalid([]any{"body", "reason"}, fmt.Sprintf("reason must have at most %d characters; it has %d.", maxReason, n), "string_too_long")
	}
	return displaytext.CheckLines("reason", text)
}

// draft builds the row of a draft with its content hash and number.
func (s *Service) draft(ctx context.Context, q *pg.Q, p identity.Principal, a models.Action, in CreateVersion, now time.Time) (models.PolicyVersion, error) {
	base, err := s.base(ctx, q, p.Store(), a)
	if err != nil {
		return base, err
	}
	v := models.PolicyVersion{
		ID: ids.New(ids.PolicyVersion), TenantID: a.TenantID, EnvironmentID: a.EnvironmentID, ActionID: a.ID, Status: models.PolicyDraft,
		ContextSchema: base.ContextSchema, AllowedAudiences: base.AllowedAudiences, AllowedCallers: base.AllowedCallers,
		ProofTTLSeconds: base.ProofTTLSeconds, CreatedAt: now, CreatedBy: p.Actor(), Reason: in.Reason,
	}
	if in.AllowedAudiences != nil {
		v.AllowedAudiences = in.AllowedAudiences
	}
	if in.AllowedCallers != nil {
		v.AllowedCallers = in.AllowedCallers
	}
	if len(in.ContextSchema) > 0 && string(in.ContextSchema) != "null" {
		v.ContextSchema = models.JSON(in.ContextSchema)
	}
	if in.ProofTTLSeconds != nil {
		v.ProofTTLSeconds = *in.ProofTTLSeconds
	}
	// The defaults are stored with the version: a later change of a default must not change its decisions or its hash.
	requirements := in.Requirements.Resolve(policy.EnvironmentKind(p.Kind))
	if v.Requirements, err = json.Marshal(requirements); err != nil {
		return v, err
	}
	if in.KeepRead {
		if v.ContextSchema, err = keepRead(requirements.Rules, v.ContextSchema); err != nil {
			return v, err
		}
	}
	contract, err := Contract(v)
	if err != nil {
		return v, err
	}
	used, err := checkRules(contract)
	if err != nil {
		return v, err
	}
	if v.Lists, err = checkLists(ctx, q, p.Store(), used); err != nil {
		return v, err
	}
	if err := checkApprovers(requirements, v.ContextSchema); err != nil {
		return v, err
	}
	if err := checkStanding(requirements.Standing, v.ContextSchema); err != nil {
		return v, err
	}
	if err := checkTeams(ctx, q, p.Store(), requirements); err != nil {
		return v, err
	}
	if err := checkHours(ctx, q, p.Store(), requirements); err != nil {
		return v, err
	}
	if v.ContentHash, err = contract.ContentHash(); err != nil {
		return v, problem.Invalid([]any{"body", "context_schema"}, "context_schema has no canonical form: "+err.Error(), "value_error")
	}
	v.Version, err = nextPolicyVersion(ctx, q, a.ID)
	return v, err
}

// keepRead returns a context_schema that keeps the values of a request that the rules read.
func keepRead(list []policy.Rule, schema models.JSON) (models.JSON, error) {
	var parsed map[string]any
	if err := json.Unmarshal(schema, &parsed); err != nil {
		return nil, err
	}
	set := rules.CompileStored(list, parsed)
	marked, err := storedvalues.Mark(schema, set.ReadsContext(), set.ReadsResource())
	if err != nil {
		return nil, err
	}
	return checkContextSchema(marked)
}

// base returns the version from which omitted fields are copied.
func (s *Service) base(ctx context.Context, q *pg.Q, scope pg.Scope, a models.Action) (models.PolicyVersion, error) {
	if a.ActivePolicyVersion != nil {
		return PolicyVersion(ctx, q, scope, a.ID, *a.ActivePolicyVersion)
	}
	return models.PolicyVersion{
		ContextSchema: a.ContextSchema, AllowedAudiences: a.AllowedAudiences, AllowedCallers: a.AllowedCallers,
		ProofTTLSeconds: a.ProofTTLSeconds,
	}, nil
}

// Contract decodes the content of a version.
func Contract(v models.PolicyVersion) (policy.Contract, error) {
	c := policy.Contract{AllowedAudiences: v.AllowedAudiences, AllowedCallers: v.AllowedCallers, ProofTTLSeconds: v.ProofTTLSeconds}
	if err := json.Unmarshal(v.Requirements, &c.Requirements); err != nil {
		return c, err
	}
	return c, json.Unmarshal(v.ContextSchema, &c.ContextSchema)
}

// checkRequirements refuses requirements that the schema of the contract cannot check, all in one error.
func checkRequirements(r policy.Requirements, kind policy.EnvironmentKind) error {
	found := policy.Validate(r, kind)
	if len(found) == 0 {
		return nil
	}
	fields := make([]problem.Field, len(found))
	for i, v := range found {
		fields[i] = problem.Field{Loc: append([]any{"body", "requirements"}, v.Loc...), Msg: v.Msg, Type: v.Type}
	}
	return problem.InvalidFields(fields)
}

// checkRules refuses rules whose conditions do not compile against the context_schema, all in one error. It returns the lists that they
// read.
func checkRules(c policy.Contract) ([]rules.UsedList, error) {
	set, faults := rules.Compile(c.Requirements.Rules, c.ContextSchema)
	return set.Lists(), ruleFaults(faults, "rule_invalid")
}

// ruleFaults refuses conditions; nil for none.
func ruleFaults(faults []rules.Fault, kind string) error {
	if len(faults) == 0 {
		return nil
	}
	fields := make([]problem.Field, 0, min(len(faults), maxFaults))
	for _, f := range faults[:min(len(faults), maxFaults)] {
		msg := fmt.Sprintf("requirements.rules[%d].when of the rule %q: %s.", f.Rule, f.Name, f.Error())
		fields = append(fields, problem.Field{Loc: []any{"body", "requirements", "rules", f.Rule, "when"}, Msg: msg, Type: kind})
	}
	return problem.InvalidFields(fields)
}

// checkLists refuses rules that read a list which the environment does not have, and returns the names of the lists. They stay locked until
// the transaction ends, so that none is deleted before the version is stored.
func checkLists(ctx context.Context, q *pg.Q, scope pg.Scope, used []rules.UsedList) ([]string, error) {
	names := make([]string, len(used))
	for i, l := range used {
		names[i] = l.Name
	}
	missing, err := lists.Require(ctx, q, scope, names)
	if err != nil {
		return nil, err
	}
	var faults []rules.Fault
	for _, l := range used {
		if contains(missing, l.Name) {
			l.At.Why = fmt.Sprintf("the environment has no list %q; create the list first, or correct its name", l.Name)
			faults = append(faults, l.At)
		}
	}
	return names, ruleFaults(faults, "unknown_list")
}

// listsExist refuses to activate a version that reads a list which was deleted since the version was created.
func listsExist(ctx context.Context, q *pg.Q, scope pg.Scope, v models.PolicyVersion) error {
	missing, err := lists.Require(ctx, q, scope, v.Lists)
	if err != nil || len(missing) == 0 {
		return err
	}
	return problem.Newf(problem.Conflict, "Policy version %d cannot be activated: its rules read the list %q, which the environment does not have. Create the list, or a version that does not read it.",
		v.Version, missing[0])
}

// Version returns one version of an action.
func (s *Service) Version(ctx context.Context, scope pg.Scope, actionID string, version int) (models.PolicyVersion, error) {
	v, err := PolicyVersion(ctx, s.store.Q, scope, actionID, version)
	if errors.Is(err, pg.ErrNotFound) {
		return v, problem.NewNotFound()
	}
	return v, err
}

// Versions returns an action's versions, newest first, and the cursor of the next page.
func (s *Service) Versions(ctx context.Context, scope pg.Scope, actionID string, p pg.Page) ([]models.PolicyVersion, string, error) {
	if _, err := s.Get(ctx, scope, actionID); err != nil {
		return nil, "", err
	}
	return policyVersions(ctx, s.store.Q, scope, actionID, p)
}

// recordRetired records the event of the version that was active when the action was locked.
func recordRetired(ctx context.Context, q *pg.Q, by Author, a models.Action) error {
	if a.ActivePolicyVersion == nil {
		return nil
	}
	before, err := PolicyVersion(ctx, q, by.Scope, a.ID, *a.ActivePolicyVersion)
	if err != nil {
		return err
	}
	return events.Append(ctx, q, by.entry(a, events.PolicyRetiredData(versionData(before))))
}

func versionData(v models.PolicyVersion) events.PolicyCreatedData {
	return events.PolicyCreatedData{ActionID: v.ActionID, Version: v.Version, ContentHash: v.ContentHash}
}

func entry(p identity.Principal, a models.Action, data events.Data, now time.Time) events.Entry {
	return authorOf(p, now).entry(a, data)
}
