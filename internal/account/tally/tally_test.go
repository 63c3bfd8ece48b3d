package tally_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/tally"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

type bundle struct {
	store    *pg.Store
	clock    *clock.Fake
	env      models.Environment
	metrics  *prometheus.Registry
	recorder *tally.Recorder
}

func setup(t *testing.T) bundle {
	t.Helper()
	b := bundle{store: storetest.New(t), clock: clock.NewFake(storetest.Epoch), metrics: prometheus.NewRegistry()}
	b.env = storetest.Environment(t, b.store, models.Sandbox)
	b.recorder = tally.New(tally.Deps{
		Store: b.store, Clock: b.clock, Log: slog.New(slog.DiscardHandler), Metrics: b.metrics, BaseURL: "https://console.bank.example:8443",
	})
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

// metric returns the value of a counter, of those with a label if it is given.
func (b bundle) metric(t *testing.T, name, label string) (value float64) {
	t.Helper()
	families, err := b.metrics.Gather()
	require.NoError(t, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name && (label == "" || m.GetLabel()[0].GetValue() == label) {
				value += m.GetCounter().GetValue()
			}
		}
	}
	return value
}

func TestOneEntryAMinuteCountsTheRefusals(t *testing.T) {
	t.Parallel()
	b := setup(t)
	refuse := func(n int) {
		for range n {
			b.recorder.Refused(b.caller(), "createAction", problem.InsufficientScope)
		}
	}
	refuse(1)
	require.Equal(t, []int{1}, b.written(t, b.env.ID, "operation.refused"))
	refuse(1000)
	b.clock.Advance(tally.Interval - time.Second)
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
			b.recorder.Refused(b.caller(), "authorize", problem.CallerNotAllowed)
			p, operation, code := b.caller(), "authorize", problem.CallerNotAllowed
			c.change(&p, &operation, &code)
			b.recorder.Refused(p, operation, code)
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

	b.recorder.SignInFailed(tally.SignIn{Tenant: person.TenantID, Person: person.ID}, problem.AssertionRefused, "req_1")
	require.Empty(t, b.written(t, b.env.ID, kind), "the person has no role there")
	require.Equal(t, []int{1}, b.written(t, live.ID, kind))

	b.recorder.SignInFailed(tally.SignIn{Tenant: person.TenantID, IdentityProvider: "idp_1", Reason: "nonce"}, problem.Forbidden, "req_1")
	require.Equal(t, []int{1}, b.written(t, b.env.ID, kind), "no person is known")
	require.Equal(t, []int{1, 1}, b.written(t, live.ID, kind))

	b.recorder.SignInFailed(tally.SignIn{}, problem.AssertionRefused, "req_1")
	b.recorder.SignInFailed(tally.SignIn{}, problem.AssertionRefused, "req_2")
	require.Equal(t, []int{1, 2}, b.written(t, b.env.ID, kind), "an unknown passkey, with one tenant")

	b.clock.Advance(tally.Interval)
	b.recorder.SignInFailed(tally.SignIn{Tenant: person.TenantID}, problem.Unavailable, "req_1")
	require.Equal(t, []int{1, 2}, b.written(t, b.env.ID, kind), "a fault of the service is no refusal")
}

// A passkey that no one has names no tenant. Of several, the one whose RP ID covers the console is concerned.
func TestUnknownPasskeysAreInTheLogOfTheTenantOfTheRPID(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ours, theirs []string
		want         []int
	}{
		"no one has an RP ID":    {want: nil},
		"the host":               {ours: []string{"console.bank.example"}, want: []int{3}},
		"a domain above":         {ours: []string{"bank.example"}, want: []int{3}},
		"the nearer domain":      {ours: []string{"console.bank.example"}, theirs: []string{"bank.example"}, want: []int{3}},
		"a part of a label":      {ours: []string{"ank.example"}, want: nil},
		"another tenant's":       {ours: []string{"other.example"}, theirs: []string{"bank.example"}, want: nil},
		"a domain below":         {ours: []string{"a.console.bank.example"}, want: nil},
		"an underscore is none":  {ours: []string{"console-bank.example"}, want: nil},
		"another tenant's below": {ours: []string{"bank.example"}, theirs: []string{"console.bank.example"}, want: nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			other := storetest.Environment(t, b.store, models.Sandbox)
			for tenant, ids := range map[string][]string{b.env.TenantID: c.ours, other.TenantID: c.theirs} {
				for _, id := range ids {
					testenv.Exec(t, b.store, "insert into rp_ids (rp_id, tenant_id) values ($1, $2)", id, tenant)
				}
			}
			for range 3 {
				b.recorder.SignInFailed(tally.SignIn{}, problem.AssertionRefused, "req_1")
			}
			require.Equal(t, c.want, b.written(t, b.env.ID, "person.sign_in_failed"))
		})
	}
}

func TestReadsInBulkHaveAnEntryAnHour(t *testing.T) {
	t.Parallel()
	const kind = "records.read"
	b := setup(t)
	read := func(records int) { b.recorder.Read(b.caller(), "listSubjects", records) }
	read(tally.Bulk)
	require.Empty(t, b.written(t, b.env.ID, kind), "a page is no bulk")
	b.clock.Advance(tally.ReadInterval)
	require.Empty(t, b.written(t, b.env.ID, kind))
	read(tally.Bulk)
	require.Empty(t, b.written(t, b.env.ID, kind), "nor is a page in each hour")
	read(1)
	require.Equal(t, []int{tally.Bulk + 1}, b.written(t, b.env.ID, kind))
	for range 100 {
		read(tally.Bulk)
	}
	b.clock.Advance(tally.ReadInterval - time.Second)
	require.Len(t, b.written(t, b.env.ID, kind), 1)
	b.clock.Advance(time.Second)
	require.Equal(t, []int{tally.Bulk + 1, 100 * tally.Bulk}, b.written(t, b.env.ID, kind))

	other := b.caller()
	other.CredentialID = "crd_2"
	b.recorder.Read(other, "listSubjects", tally.Bulk+1)
	b.recorder.Read(b.caller(), "listSessions", tally.Bulk+2)
	b.recorder.Read(b.caller(), "listAuthorizations", tally.Bulk)
	b.recorder.Drain(t.Context())
	require.ElementsMatch(t, []int{tally.Bulk + 1, 100 * tally.Bulk, tally.Bulk + 1, tally.Bulk + 2}, b.stored(t, b.env.ID, kind), "each key and list has its own")
}

func TestAnEntryThatCannotBeWrittenIsCounted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.recorder.Refused(b.caller(), "authorize", problem.CallerNotAllowed)
	b.recorder.Refused(b.caller(), "authorize", problem.CallerNotAllowed)
	b.store.Close()
	b.recorder.Write(t.Context())
	require.InDelta(t, 1, b.metric(t, "countersign_tallies_unwritten_total", ""), 0)
}

// A record that was changed outside of the service is refused each time, and is one entry an hour.
func TestAlteredRecordsAreRecorded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.store.Pool().Exec(t.Context(), "update environments set bar_self_review = not bar_self_review")
	require.NoError(t, err)
	entries := func() (n int) {
		b.recorder.Write(t.Context())
		require.NoError(t, b.store.Pool().QueryRow(t.Context(), `select count(*) from events where environment_id = $1 and type = $2
			and data = jsonb_build_object('table', 'environments', 'record', $1)`, b.env.ID, string(events.RecordAltered)).Scan(&n))
		return n
	}
	for range 3 {
		_, err := tenancy.GetEnvironment(t.Context(), b.store.Q, storetest.Scope(b.env))
		var altered *pg.Altered
		require.ErrorAs(t, err, &altered)
		require.Equal(t, 1, entries())
	}
	require.InDelta(t, 3, b.metric(t, "countersign_altered_records_total", "environments"), 0)
	b.clock.Advance(tally.ReadInterval)
	require.Equal(t, 2, entries(), "those since the first entry are one")
	require.Equal(t, 2, entries())
}
