package change_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/team"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/authz/lists"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/problem"

	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

var now = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// life is how long a change request waits.
const life = 24 * time.Hour

type bundle struct {
	*fixture.World
	clock   *clock.Fake
	actions *action.Service
	tenancy *tenancy.Service
	teams   *team.Service
	lists   *lists.Service
	service *change.Service
	ann     identity.Principal // server key: requests
	bob     identity.Principal // admin key of another party: approves
}

func setup(t *testing.T) *bundle {
	t.Helper()
	st := testenv.Store(t)
	c := clock.NewFake(now)
	ring, err := keyring.Parse(keyring.Generate())
	require.NoError(t, err)
	b := &bundle{World: fixture.New(t, st, now), clock: c, actions: action.New(st, c), tenancy: tenancy.New(st, nil, c, nil), teams: team.New(st, c), lists: lists.New(st, c, ring)}
	b.service = change.New(change.Deps{Store: st, Clock: c, Actions: b.actions, Tenancy: b.tenancy, Teams: b.teams, Lists: b.lists, Simulate: &replay{}})
	b.ann, b.bob = b.Principal("crd_ann"), b.admin("crd_bob", "cli:test")
	b.Exec("update environments set second_approver_required = true")
	return b
}

// admin inserts an admin key that an actor issued.
func (b *bundle) admin(id, issuer string) identity.Principal {
	b.AddCredential(id, issuer)
	b.Exec("update credentials set scope = 'admin' where id = $1", id)
	p := b.Principal(id)
	p.Scope = models.ScopeAdmin
	return p
}

// draft adds a policy version with a given number of approvals.
func (b *bundle) draft(t *testing.T, approvals int) models.PolicyVersion {
	t.Helper()
	v, err := b.actions.CreateVersion(t.Context(), b.ann, b.Action.ID, action.CreateVersion{Requirements: policy.Requirements{ApprovalsRequired: approvals}})
	require.NoError(t, err)
	return v
}

// activation requests to activate a new draft.
func (b *bundle) activation(t *testing.T) *change.View {
	t.Helper()
	made, err := b.service.Activate(t.Context(), b.ann, b.Action.ID, b.draft(t, 2).Version)
	require.NoError(t, err)
	require.NotNil(t, made.Requested)
	return made.Requested
}

func (b *bundle) decide(t *testing.T, id, resolution string, p identity.Principal) (change.Outcome, error) {
	t.Helper()
	return b.service.Decide(t.Context(), b.move(id, resolution, p))
}

func (b *bundle) move(id, resolution string, p identity.Principal) change.Move {
	return change.Move{Environment: p.EnvironmentID, ID: id, Resolution: resolution, Actor: p.Actor(), RequestID: "req_1", At: b.clock.Now(), WorkflowID: "change/" + id}
}

func (b *bundle) status(t *testing.T, id string) models.ChangeStatus {
	t.Helper()
	v, err := b.service.Get(t.Context(), b.bob, id)
	require.NoError(t, err)
	return v.Status
}

func (b *bundle) active(t *testing.T) *int {
	t.Helper()
	a, err := b.actions.Get(t.Context(), b.Scope, b.Action.ID)
	require.NoError(t, err)
	return a.ActivePolicyVersion
}

func TestActivateAppliesAtOnceUnlessSecondApproverIsRequired(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Exec("update environments set second_approver_required = false")
	made, err := b.service.Activate(t.Context(), b.ann, b.Action.ID, b.draft(t, 1).Version)
	require.NoError(t, err)
	require.Nil(t, made.Requested)
	require.Equal(t, models.PolicyActive, made.Applied.Status)
	require.Zero(t, b.Count("select count(*) from changes"))
}

func TestServicesRefuseWhatRequiresSecondApprover(t *testing.T) {
	t.Parallel()
	b := setup(t)
	mode, name, off := models.ModeTest, "Other", false
	_, err := b.actions.Activate(t.Context(), b.ann, b.Action.ID, b.draft(t, 1).Version)
	require.ErrorIs(t, err, tenancy.ErrSecondApprover)
	_, err = b.actions.Update(t.Context(), b.ann, b.Action.ID, action.Change{Mode: &mode, Name: &name})
	require.ErrorIs(t, err, tenancy.ErrSecondApprover)
	_, err = b.tenancy.UpdateSettings(t.Context(), b.Scope, tenancy.Settings{"second_approver_required": off}, "cli:test", "")
	require.ErrorIs(t, err, tenancy.ErrSecondApprover)
	require.True(t, problem.Is(err, problem.Conflict))
	require.Nil(t, b.active(t))
}

func TestApprovalActivatesPolicy(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v := b.activation(t)
	require.Equal(t, models.ChangePending, v.Status)
	require.Equal(t, now.Add(life), v.ExpiresAt)
	require.Nil(t, b.active(t), "nothing is in force yet")
	out, err := b.decide(t, v.ID, change.Approve, b.bob)
	require.NoError(t, err)
	require.Equal(t, models.ChangeApproved, out.Status)
	require.Equal(t, v.PolicyVersion, *b.active(t))
	require.Equal(t, []string{"policy.created", "change.requested", "change.approved", "policy.activated"}, b.events(t))
	again, err := b.decide(t, v.ID, change.Approve, b.bob)
	require.NoError(t, err, "a repeated approval returns the outcome")
	require.Equal(t, out, again)
	require.Equal(t, 1, b.Count("select count(*) from events where type = 'change.approved'"))
}

// events returns the types of the events, oldest first.
func (b *bundle) events(t *testing.T) []string {
	t.Helper()
	var out []string
	rows, err := b.Store.Pool().Query(t.Context(), "select type from events order by seq")
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var one string
		require.NoError(t, rows.Scan(&one))
		out = append(out, one)
	}
	return out
}

func TestApprovalChangesModeAndSettings(t *testing.T) {
	t.Parallel()
	b := setup(t)
	mode, name, bar := models.ModeShadow, "Pay", true
	made, err := b.service.UpdateAction(t.Context(), b.ann, b.Action.ID, action.Change{Mode: &mode, Name: &name})
	require.NoError(t, err)
	require.Equal(t, []change.Difference{
		{Field: "mode", Before: json.RawMessage(`"enforce"`), After: json.RawMessage(`"shadow"`)},
		{Field: "name", Before: json.RawMessage(`"Send a transfer"`), After: json.RawMessage(`"Pay"`)},
	}, made.Requested.Differences)
	_, err = b.decide(t, made.Requested.ID, change.Approve, b.bob)
	require.NoError(t, err)
	a, err := b.actions.Get(t.Context(), b.Scope, b.Action.ID)
	require.NoError(t, err)
	require.Equal(t, models.ModeShadow, a.Mode)
	require.Equal(t, "Pay", a.Name)

	admin := b.admin("crd_admin", "cli:test")
	settings, err := b.service.UpdateSettings(t.Context(), admin, tenancy.Settings{"bar_self_review": bar})
	require.NoError(t, err)
	require.Equal(t, []change.Difference{{Field: "bar_self_review", Before: json.RawMessage(`false`), After: json.RawMessage(`true`)}}, settings.Requested.Differences)
	_, err = b.decide(t, settings.Requested.ID, change.Approve, b.bob)
	require.NoError(t, err)
	env, err := b.tenancy.Environment(t.Context(), b.Scope)
	require.NoError(t, err)
	require.True(t, env.BarSelfReview)
	require.True(t, env.SecondApproverRequired, "settings that were not proposed are unchanged")
}

func TestChangesThatNeedNoApprovalApplyAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	mode, on := models.ModeEnforce, true
	a, err := b.service.UpdateAction(t.Context(), b.ann, b.Action.ID, action.Change{Mode: &mode})
	require.NoError(t, err)
	require.Nil(t, a.Requested, "the mode is the one in force")
	require.Equal(t, models.ModeEnforce, a.Applied.Mode)
	e, err := b.service.UpdateSettings(t.Context(), b.bob, tenancy.Settings{"second_approver_required": on})
	require.NoError(t, err)
	require.Nil(t, e.Requested)
	require.True(t, e.Applied.SecondApproverRequired)
}

func TestProposalIsChecked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.service.Activate(t.Context(), b.ann, b.Action.ID, 7)
	require.True(t, problem.Is(err, problem.NotFound))
	_, err = b.service.UpdateSettings(t.Context(), b.bob, tenancy.Settings{"origins": []string{"http://evil.example"}})
	require.True(t, problem.Is(err, problem.Unprocessable))
	v := b.activation(t)
	_, err = b.decide(t, v.ID, change.Approve, b.bob)
	require.NoError(t, err)
	b.activationOf(t, 3)
	_, err = b.service.Activate(t.Context(), b.ann, b.Action.ID, v.PolicyVersion)
	require.True(t, problem.Is(err, problem.PolicyNotDraft), "%v", err)
}

// activationOf activates a new draft with an approval.
func (b *bundle) activationOf(t *testing.T, approvals int) {
	t.Helper()
	made, err := b.service.Activate(t.Context(), b.ann, b.Action.ID, b.draft(t, approvals).Version)
	require.NoError(t, err)
	_, err = b.decide(t, made.Requested.ID, change.Approve, b.bob)
	require.NoError(t, err)
}

func TestSameProposalIsOneChange(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v := b.draft(t, 2).Version
	var seen sync.Map
	var all sync.WaitGroup
	for i := range 8 {
		p := b.ann
		if i%2 == 1 {
			p = b.bob
		}
		all.Go(func() {
			made, err := b.service.Activate(t.Context(), p, b.Action.ID, v)
			if err != nil || made.Requested == nil {
				seen.Store(fmt.Sprint(err), true)
				return
			}
			seen.Store(made.Requested.ID, true)
		})
	}
	all.Wait()
	n := 0
	seen.Range(func(any, any) bool { n++; return true })
	require.Equal(t, 1, n)
	require.Equal(t, 1, b.Count("select count(*) from changes"))
	require.Equal(t, 1, b.Count("select count(*) from outbox where topic = 'change.start'"))

	b.clock.Advance(life)
	made, err := b.service.Activate(t.Context(), b.ann, b.Action.ID, v)
	require.NoError(t, err)
	require.Equal(t, models.ChangePending, made.Requested.Status, "an expired request does not stand for a new one")
	require.Equal(t, 2, b.Count("select count(*) from changes"))
	require.Equal(t, 1, b.Count("select count(*) from events where type = 'change.expired'"))
}

func TestWhoMayDecide(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		by         func(b *bundle) identity.Principal
		resolution string
		code       problem.Code // empty: permitted
	}{
		"the requester approves":          {func(b *bundle) identity.Principal { return b.ann }, change.Approve, problem.SelfApproval},
		"the requester rejects":           {func(b *bundle) identity.Principal { return b.ann }, change.Reject, problem.SelfApproval},
		"a key that the requester issued": {func(b *bundle) identity.Principal { return b.admin("crd_minted", "credential:crd_ann") }, change.Approve, problem.SelfApproval},
		"a key of a key that the requester issued": {func(b *bundle) identity.Principal {
			b.admin("crd_minted", "credential:crd_ann")
			return b.admin("crd_deep", "credential:crd_minted")
		}, change.Approve, problem.SelfApproval},
		"a server key":                              {func(b *bundle) identity.Principal { return b.Principal("crd_server") }, change.Approve, problem.Forbidden},
		"a revoked key":                             {func(b *bundle) identity.Principal { return b.left("revoked_at") }, change.Approve, problem.Forbidden},
		"an expired key":                            {func(b *bundle) identity.Principal { return b.left("expires_at") }, change.Approve, problem.Forbidden},
		"an admin key without the permission":       {func(b *bundle) identity.Principal { return b.narrowed("decide") }, change.Approve, problem.Forbidden},
		"an admin key with the permission":          {func(b *bundle) identity.Principal { return b.narrowed("policy.activate") }, change.Approve, ""},
		"an operator":                               {func(b *bundle) identity.Principal { return b.person("operator") }, change.Approve, ""},
		"a reviewer":                                {func(b *bundle) identity.Principal { return b.person("reviewer") }, change.Approve, problem.Forbidden},
		"another withdraws":                         {func(b *bundle) identity.Principal { return b.bob }, change.Withdraw, problem.Forbidden},
		"the requester withdraws":                   {func(b *bundle) identity.Principal { return b.ann }, change.Withdraw, ""},
		"a key that the requester issued withdraws": {func(b *bundle) identity.Principal { return b.admin("crd_minted", "credential:crd_ann") }, change.Withdraw, ""},
		"another rejects":                           {func(b *bundle) identity.Principal { return b.bob }, change.Reject, ""},
		"another approves":                          {func(b *bundle) identity.Principal { return b.bob }, change.Approve, ""},
		"unknown resolution":                        {func(b *bundle) identity.Principal { return b.bob }, "maybe", problem.Conflict},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			v := b.activation(t)
			_, err := b.decide(t, v.ID, c.resolution, c.by(b))
			if c.code == "" {
				require.NoError(t, err)
				require.NotEqual(t, models.ChangePending, b.status(t, v.ID))
				return
			}
			require.True(t, problem.Is(err, c.code), "%v", err)
			require.Equal(t, models.ChangePending, b.status(t, v.ID))
			require.Nil(t, b.active(t))
		})
	}
}

// narrowed returns an admin key with one permission.
func (b *bundle) narrowed(permission string) identity.Principal {
	p := b.admin("crd_narrow", "cli:test")
	b.Exec("update credentials set permissions = array[$1] where id = 'crd_narrow'", permission)
	return p
}

// left returns an admin key whose access ends now.
func (b *bundle) left(column string) identity.Principal {
	p := b.admin("crd_left", "cli:test")
	b.Exec("update credentials set "+column+" = $1 where id = 'crd_left'", now)
	return p
}

func (b *bundle) person(role string) identity.Principal {
	b.Exec("insert into people (id, tenant_id, name, created_at, created_by, confirmed_at) values ('prs_1', $1, 'Eve', $2, 'cli:test', $2)", b.Scope.Tenant, now)
	b.Exec("insert into person_roles (person_id, environment_id, role, granted_at, granted_by) values ('prs_1', $1, $2, $3, 'cli:test')",
		b.Scope.Environment, role, now)
	return identity.Principal{Person: "prs_1", TenantID: b.Scope.Tenant, EnvironmentID: b.Scope.Environment}
}

func TestApprovalRequiresRequesterInGoodStanding(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v := b.activation(t)
	b.Exec("update credentials set revoked_at = $1 where id = 'crd_ann'", now)
	_, err := b.decide(t, v.ID, change.Approve, b.bob)
	require.True(t, problem.Is(err, problem.Conflict), "%v", err)
	require.Nil(t, b.active(t))
	_, err = b.decide(t, v.ID, change.Reject, b.bob)
	require.NoError(t, err)
}

func TestApprovalIsSupersededIfBaseIsNotInForce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		propose func(t *testing.T, b *bundle) *change.View
		between func(t *testing.T, b *bundle)
	}{
		"a different version is active": {
			func(t *testing.T, b *bundle) *change.View { return b.activation(t) },
			func(t *testing.T, b *bundle) { b.activationOf(t, 3) },
		},
		"a different mode is in force": {
			func(t *testing.T, b *bundle) *change.View { return b.activation(t) },
			func(_ *testing.T, b *bundle) { b.Exec("update actions set mode = 'shadow'") },
		},
		"the action is archived": {
			func(t *testing.T, b *bundle) *change.View { return b.activation(t) },
			func(t *testing.T, b *bundle) { require.NoError(t, b.actions.Archive(t.Context(), b.ann, b.Action.ID)) },
		},
		"the mode was changed": {
			func(t *testing.T, b *bundle) *change.View { return b.modeTo(t, models.ModeTest) },
			func(_ *testing.T, b *bundle) { b.Exec("update actions set mode = 'shadow'") },
		},
		"the policy that the mode enforces was changed": {
			func(t *testing.T, b *bundle) *change.View { return b.modeTo(t, models.ModeTest) },
			func(t *testing.T, b *bundle) { b.activationOf(t, 3) },
		},
		"the setting was changed": {
			func(t *testing.T, b *bundle) *change.View { return b.holdsFor(t, 3600) },
			func(_ *testing.T, b *bundle) { b.Exec("update environments set hold_ttl_seconds = 60") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			v := c.propose(t, b)
			c.between(t, b)
			before := b.Count("select count(*) from events where type in ('policy.activated', 'action.updated', 'environment.updated')")
			out, err := b.decide(t, v.ID, change.Approve, b.bob)
			require.NoError(t, err)
			require.Equal(t, models.ChangeSuperseded, out.Status)
			require.Equal(t, 1, b.Count("select count(*) from events where type = 'change.superseded'"))
			require.Equal(t, before, b.Count("select count(*) from events where type in ('policy.activated', 'action.updated', 'environment.updated')"))
			_, err = b.decide(t, v.ID, change.Approve, b.bob)
			require.True(t, problem.Is(err, problem.ChangeSuperseded))
		})
	}
}

func (b *bundle) modeTo(t *testing.T, mode models.ActionMode) *change.View {
	t.Helper()
	made, err := b.service.UpdateAction(t.Context(), b.ann, b.Action.ID, action.Change{Mode: &mode})
	require.NoError(t, err)
	return made.Requested
}

func (b *bundle) holdsFor(t *testing.T, seconds int) *change.View {
	t.Helper()
	made, err := b.service.UpdateSettings(t.Context(), b.admin("crd_admin", "cli:test"), tenancy.Settings{"hold_ttl_seconds": seconds})
	require.NoError(t, err)
	return made.Requested
}

func TestChangesOfDifferentSettingsDoNotSupersedeEachOther(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ttl := 60
	first := b.holdsFor(t, 3600)
	second, err := b.service.UpdateSettings(t.Context(), b.admin("crd_admin", "cli:test"), tenancy.Settings{"challenge_ttl_seconds": ttl})
	require.NoError(t, err)
	for _, id := range []string{first.ID, second.Requested.ID} {
		out, err := b.decide(t, id, change.Approve, b.bob)
		require.NoError(t, err)
		require.Equal(t, models.ChangeApproved, out.Status)
	}
}

func TestSettledChangeRefusesOtherDecisions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v := b.activation(t)
	_, err := b.decide(t, v.ID, change.Reject, b.bob)
	require.NoError(t, err)
	_, err = b.decide(t, v.ID, change.Approve, b.bob)
	require.True(t, problem.Is(err, problem.ChangeSettled))
	require.Nil(t, b.active(t))
	_, err = b.decide(t, "chg_unknown", change.Approve, b.bob)
	require.True(t, problem.Is(err, problem.NotFound))
}

func TestChangeExpires(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v := b.activation(t)
	early, err := b.service.Expire(t.Context(), b.move(v.ID, "", b.bob))
	require.NoError(t, err)
	require.Equal(t, change.Outcome{Status: models.ChangePending, ExpiresAt: now.Add(life)}, early)
	b.clock.Advance(life)
	require.Equal(t, models.ChangeExpired, b.status(t, v.ID), "computed on read before the timer fires")
	_, err = b.decide(t, v.ID, change.Approve, b.bob)
	require.True(t, problem.Is(err, problem.ChangeExpired))
	for range 2 {
		out, err := b.service.Expire(t.Context(), b.move(v.ID, "", b.bob))
		require.NoError(t, err)
		require.Equal(t, models.ChangeExpired, out.Status)
	}
	require.Equal(t, 1, b.Count("select count(*) from events where type = 'change.expired'"))
	require.Nil(t, b.active(t))
}

func TestConcurrentDecisionsSettleOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v := b.activation(t)
	eve := b.admin("crd_eve", "cli:test")
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			if i%2 == 0 {
				_, _ = b.service.Decide(t.Context(), b.move(v.ID, change.Approve, b.bob))
			} else {
				_, _ = b.service.Decide(t.Context(), b.move(v.ID, change.Reject, eve))
			}
		})
	}
	all.Wait()
	require.Equal(t, 1, b.Count("select count(*) from events where type in ('change.approved', 'change.rejected')"))
	require.Equal(t, b.status(t, v.ID) == models.ChangeApproved, b.active(t) != nil)
}
