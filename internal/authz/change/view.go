package change

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// View is a change request as a principal sees it.
type View struct {
	models.Change
	// Status is the effective one.
	Status      models.ChangeStatus
	Differences []Difference
	// PolicyVersion is the version to activate; 0 for other kinds.
	PolicyVersion int
	// Replaces is the version that was active when it was requested; 0 for none and for other kinds.
	Replaces int
	// Team is the key of the team; empty for other kinds.
	Team string
	// Endpoint is the id of the webhook endpoint; empty for other kinds and for a new one.
	Endpoint string
	// List is the name of the list; empty for other kinds.
	List string
	// Subject is the relying party's id of the subject; empty for other kinds and once the subject is erased.
	Subject string
	// Own reports that the principal requested it. Approvable reports that the principal may approve it.
	Own, Approvable bool
	// Applies reports whether what it was requested against is in force; nil in lists and for a settled change request.
	Applies *bool
	// Simulation is the effect of a policy version on stored decisions; nil in lists, for other kinds, and for a settled change
	// request.
	Simulation *authorization.Simulation
}

// view returns a change request without what depends on a principal.
func view(c models.Change, now time.Time) (*View, error) {
	v := View{Change: c, Status: Effective(c, now)}
	if err := json.Unmarshal(c.Differences, &v.Differences); err != nil {
		return nil, err
	}
	if isTeam(c.Kind) {
		var err error
		v.Team, err = teamOf(c)
		return &v, err
	}
	if isList(c.Kind) {
		var err error
		v.List, err = listOf(c)
		return &v, err
	}
	if c.Kind == models.ChangeWebhookUpdate {
		v.Endpoint = c.Target
	}
	if c.Kind == models.ChangeSubjectReinstate {
		v.Subject = c.Target
	}
	if c.Kind != models.ChangePolicyActivate {
		return &v, nil
	}
	var in policyProposed
	if err := json.Unmarshal(c.Proposed, &in); err != nil {
		return nil, err
	}
	var base policyBase
	err := json.Unmarshal(c.Base, &base)
	if v.PolicyVersion = in.Version; base.ActiveVersion != nil {
		v.Replaces = *base.ActiveVersion
	}
	return &v, err
}

// viewer shows change requests to a principal, compared with their requesters as permit does.
type viewer struct {
	identity.Principal
	by         identity.Behind
	requesters map[string]identity.Behind // by actor
}

func viewerOf(ctx context.Context, q *pg.Q, p identity.Principal, rows ...models.Change) (viewer, error) {
	by, err := identity.PrincipalBehind(ctx, q, p.Store(), p.Actor())
	out := viewer{Principal: p, by: by, requesters: map[string]identity.Behind{}}
	for _, row := range rows {
		if _, known := out.requesters[row.ProposedBy]; err == nil && !known {
			out.requesters[row.ProposedBy], err = identity.PrincipalBehind(ctx, q, p.Store(), row.ProposedBy)
		}
	}
	return out, err
}

// see adds what depends on the viewer.
func (r viewer) see(v *View) *View {
	v.Own = requestedBy(v.Change, r.by, r.requesters[v.ProposedBy])
	v.Approvable = v.Status == models.ChangePending && !r.by.MayBeSame(r.requesters[v.ProposedBy]) && !v.Own && r.by.Former == "" && administers(r.Principal) && r.Permissions.Has(permission(v.Kind))
	return v
}

// administers reports whether the principal is an admin key or a member of staff, whose role the console checks.
func administers(p identity.Principal) bool { return p.Person != "" || p.Scope == models.ScopeAdmin }

// kinds returns the kinds that the principal may see; nil is all. Settings of the environment and webhook endpoints are for those who may read
// them.
func kinds(p identity.Principal) []models.ChangeKind {
	if administers(p) {
		return nil
	}
	return []models.ChangeKind{
		models.ChangePolicyActivate, models.ChangeActionMode, models.ChangeTeamCreate, models.ChangeTeamUpdate, models.ChangeTeamDelete,
		models.ChangeListEntries, models.ChangeListDelete,
	}
}

// shows reports whether the principal may see change requests of the kind.
func shows(p identity.Principal, k models.ChangeKind) bool {
	return administers(p) || slices.Contains(kinds(p), k)
}

// Filter narrows a list of change requests; empty fields do not.
type Filter struct {
	Status models.ChangeStatus
	Kind   models.ChangeKind
	Target string // id of what is changed
}

// List lists the change requests that the principal may see, newest first, and the cursor of the next page.
func (s *Service) List(ctx context.Context, p identity.Principal, f Filter, page pg.Page) ([]View, string, error) {
	now := s.clock.Now()
	filter := ListFilter{Status: f.Status, Kinds: kinds(p), Target: f.Target, Now: now}
	if f.Kind != "" {
		if !shows(p, f.Kind) {
			return nil, "", nil
		}
		filter.Kinds = []models.ChangeKind{f.Kind}
	}
	rows, next, err := listChanges(ctx, s.store.AsStored(), p.Store(), filter, page)
	if err != nil {
		return nil, "", err
	}
	to, err := viewerOf(ctx, s.store.Q, p, rows...)
	if err != nil {
		return nil, "", err
	}
	out := make([]View, len(rows))
	for i, row := range rows {
		v, err := view(row, now)
		if err != nil {
			return nil, "", err
		}
		out[i] = *to.see(v)
	}
	return out, next, nil
}

// Pending counts the pending change requests of an environment.
func (s *Service) Pending(ctx context.Context, scope pg.Scope) (int64, error) {
	return pendingChanges(ctx, s.store.Q, scope, s.clock.Now())
}

// Get returns one change request. A pending one is shown with whether it still applies and, for a policy version, with its
// simulation.
func (s *Service) Get(ctx context.Context, p identity.Principal, id string) (*View, error) {
	row, err := visible(ctx, s.store.AsStored(), p, id)
	if err != nil {
		return nil, err
	}
	v, err := s.seen(ctx, p, row)
	if err != nil || v.Status != models.ChangePending {
		return v, err
	}
	applies, err := stillApplies(ctx, s.read(s.store.Q, s.clock.Now()), row)
	if v.Applies = &applies; err != nil || row.Kind != models.ChangePolicyActivate {
		return v, err
	}
	v.Simulation, err = s.simulation(ctx, p.Store(), v)
	return v, err
}

// seen returns a change request as the principal sees it.
func (s *Service) seen(ctx context.Context, p identity.Principal, row models.Change) (*View, error) {
	v, err := view(row, s.clock.Now())
	if err != nil {
		return nil, err
	}
	to, err := viewerOf(ctx, s.store.Q, p, row)
	return to.see(v), err
}

// simulation decides the newest decisions of the action again under the proposed version.
func (s *Service) simulation(ctx context.Context, scope pg.Scope, v *View) (*authorization.Simulation, error) {
	env, err := tenancy.GetEnvironment(ctx, s.store.Q, scope)
	if err != nil {
		return nil, err
	}
	version, err := action.PolicyVersion(ctx, s.store.Q, scope, v.Target, v.PolicyVersion)
	if err != nil {
		return nil, err
	}
	out, err := s.simulate.Simulate(ctx, scope, version, policy.EnvironmentKind(env.Kind), authorization.Window{Last: simulated})
	return &out, err
}

// visible returns a change request that the principal may see.
func visible(ctx context.Context, q *pg.Q, p identity.Principal, id string) (models.Change, error) {
	row, err := found(getChange(ctx, q, p.Store(), id))
	if err == nil && !shows(p, row.Kind) {
		return row, problem.NewNotFound()
	}
	return row, err
}
