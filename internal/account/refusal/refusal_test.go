package refusal_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/refusal"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/models"
)

type bundle struct {
	store    *pg.Store
	clock    *clock.Fake
	env      models.Environment
	metrics  *prometheus.Registry
	recorder *refusal.Recorder
}

func setup(t *testing.T) bundle {
	t.Helper()
	b := bundle{store: storetest.New(t), clock: clock.NewFake(storetest.Epoch), metrics: prometheus.NewRegistry()}
	b.env = storetest.Environment(t, b.store, models.Sandbox)
	b.recorder = refusal.New(refusal.Deps{Store: b.store, Clock: b.clock, Log: slog.New(slog.DiscardHandler), Metrics: b.metrics})
	return b
}

func (b bundle) caller() identity.Principal {
	return identity.Principal{TenantID: b.env.TenantID, EnvironmentID: b.env.ID, CredentialID: "crd_1", RequestID: "req_1"}
}

// written writes the entries that are due and returns the counts of the environment's entries of a type, in their order.
func (b bundle) written(t *testing.T, environment, kind string) (counts []int) {
	t.Helper()
	b.recorder.Write(t.Context())
	return b.stored(t, environment, kind)
}

func (b bundle) stored(t *testing.T, environment, kind string) (counts []int) {
	t.Helper()
	rows, err := b.store.Pool().Query(t.Context(), "select (data->>'count')::int from events where environment_id = $1 and type = $2 order by seq", environment, kind)
	require.NoError(t, err)
	var n int
	_, err = pgx.ForEachRow(rows, []any{&n}, func() error { counts = append(counts, n); return nil })
	require.NoError(t, err)
	return counts
}

func TestOneEntryAMinuteCountsTheRefusals(t *testing.T) {
	t.Parallel()
	b := setup(t)
	refuse := func(n int) {
		for range n {
			b.recorder.Operation(b.caller(), "createAction", problem.InsufficientScope)
		}
	}
	refuse(1)
	require.Equal(t, []int{1}, b.written(t, b.env.ID, "operation.refused"))
	refuse(1000)
	b.clock.Advance(refusal.Interval - time.Second)
	require.Equal(t, []int{1}, b.written(t, b.env.ID, "operation.refused"))
	b.clock.Advance(time.Second)
	require.Equal(t, []int{1, 1000}, b.written(t, b.env.ID, "operation.refused"))
	b.clock.Advance(time.Hour)
	require.Equal(t, []int{1, 1000}, b.written(t, b.env.ID, "operation.refused"), "nothing was refused since")
	refuse(2)
	refuse(3)
	require.Equal(t, []int{1, 1000, 5}, b.written(t, b.env.ID, "operation.refused"))
	refuse(7)
	b.recorder.Drain(t.Context())
	require.Equal(t, []int{1, 1000, 5, 7}, b.stored(t, b.env.ID, "operation.refused"), "the end of a process loses none")
}

// Any number of client tokens of one key are one caller: each browser has its own.
func TestEachKindHasItsEntry(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(p *identity.Principal, operation *string, code *problem.Code)
		want   []int
	}{
		"the same":          {func(*identity.Principal, *string, *problem.Code) {}, []int{2}},
		"another operation": {func(_ *identity.Principal, operation *string, _ *problem.Code) { *operation = "verifyProof" }, []int{1, 1}},
		"another code":      {func(_ *identity.Principal, _ *string, code *problem.Code) { *code = problem.SelfReview }, []int{1, 1}},
		"another key":       {func(p *identity.Principal, _ *string, _ *problem.Code) { p.CredentialID = "crd_2" }, []int{1, 1}},
		"a person":          {func(p *identity.Principal, _ *string, _ *problem.Code) { p.CredentialID, p.Person = "", "prs_1" }, []int{1, 1}},
		"a token of the key": {func(p *identity.Principal, _ *string, _ *problem.Code) {
			p.Client = &identity.ClientGrant{TokenID: "clt_1"}
		},
			[]int{2}},
		"no refusal": {func(_ *identity.Principal, _ *string, code *problem.Code) { *code = "" }, []int{1}},
		"no caller":  {func(p *identity.Principal, _ *string, _ *problem.Code) { *p = identity.Principal{} }, []int{1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.recorder.Operation(b.caller(), "authorize", problem.CallerNotAllowed)
			p, operation, code := b.caller(), "authorize", problem.CallerNotAllowed
			c.change(&p, &operation, &code)
			b.recorder.Operation(p, operation, code)
			require.Equal(t, c.want, b.written(t, b.env.ID, "operation.refused"))
		})
	}
}

func TestFailedSignInsAreInTheLogsTheyConcern(t *testing.T) {
	t.Parallel()
	b := setup(t)
	live := b.env
	live.ID, live.Kind = ids.New(ids.Environment), models.Live
	require.NoError(t, tenancy.CreateEnvironment(t.Context(), b.store.Q, live))
	person := models.Person{ID: ids.New(ids.Person), TenantID: b.env.TenantID, Name: "Ada", CreatedAt: storetest.Epoch, CreatedBy: "cli:test"}
	require.NoError(t, identity.CreatePerson(t.Context(), b.store.Q, person))
	_, err := identity.GrantRole(t.Context(), b.store.Q, models.PersonRole{
		PersonID: person.ID, EnvironmentID: live.ID, Role: models.RoleReviewer, GrantedAt: storetest.Epoch, GrantedBy: "cli:test",
	})
	require.NoError(t, err)
	const kind = "person.sign_in_failed"

	b.recorder.SignIn(refusal.SignIn{Tenant: person.TenantID, Person: person.ID}, problem.AssertionRefused, "req_1")
	require.Empty(t, b.written(t, b.env.ID, kind), "the person has no role there")
	require.Equal(t, []int{1}, b.written(t, live.ID, kind))

	b.recorder.SignIn(refusal.SignIn{Tenant: person.TenantID, IdentityProvider: "idp_1", Reason: "nonce"}, problem.Forbidden, "req_1")
	require.Equal(t, []int{1}, b.written(t, b.env.ID, kind), "no person is known")
	require.Equal(t, []int{1, 1}, b.written(t, live.ID, kind))

	b.recorder.SignIn(refusal.SignIn{}, problem.AssertionRefused, "req_1")
	b.recorder.SignIn(refusal.SignIn{}, problem.AssertionRefused, "req_2")
	require.Equal(t, []int{1, 2}, b.written(t, b.env.ID, kind), "an unknown passkey, with one tenant")

	storetest.Environment(t, b.store, models.Sandbox)
	b.clock.Advance(refusal.Interval)
	b.recorder.SignIn(refusal.SignIn{}, problem.AssertionRefused, "req_1")
	b.recorder.SignIn(refusal.SignIn{Tenant: person.TenantID}, problem.Unavailable, "req_1")
	require.Equal(t, []int{1, 2}, b.written(t, b.env.ID, kind), "an unknown passkey belongs to none of several tenants; a fault of the service is no refusal")
}

func TestAnEntryThatCannotBeWrittenIsCounted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.recorder.Operation(b.caller(), "authorize", problem.CallerNotAllowed)
	b.recorder.Operation(b.caller(), "authorize", problem.CallerNotAllowed)
	b.store.Close()
	b.recorder.Write(t.Context())
	families, err := b.metrics.Gather()
	require.NoError(t, err)
	require.InDelta(t, 2, families[0].GetMetric()[0].GetCounter().GetValue(), 0)
}
