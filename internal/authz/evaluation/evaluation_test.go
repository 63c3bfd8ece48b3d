package evaluation_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/evaluation"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

var now = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

type bundle struct {
	*fixture.World
	clock   *clock.Fake
	service *evaluation.Service
}

func setup(t *testing.T) *bundle {
	t.Helper()
	st := testenv.Store(t)
	b := &bundle{World: fixture.New(t, st, now), clock: clock.NewFake(now)}
	b.service = evaluation.New(st, b.clock)
	return b
}

// decide writes a decision at a time, modified by the options.
func (b *bundle) decide(at time.Time, change func(a *models.Authorization)) {
	a := b.Authorization("allow")
	a.DecidedAt, a.Mode = at, models.ModeShadow
	if change != nil {
		change(&a)
	}
	outcome := a.Outcome
	b.Write(authorization.Decision{Authorization: a})
	if outcome != nil {
		b.Exec("update authorizations set outcome = $2, outcome_reported_at = $3 where id = $1", a.ID, *outcome, at)
	}
}

func (b *bundle) create(t *testing.T, in evaluation.Create) evaluation.View {
	t.Helper()
	in.Name = "Transfers"
	if in.ActionKeys == nil {
		in.ActionKeys = []string{"payments.transfer"}
	}
	if in.Criteria == (evaluation.Criteria{}) {
		in.Criteria = evaluation.DefaultCriteria()
	}
	v, err := b.service.Create(t.Context(), b.Principal("crd_1"), in)
	require.NoError(t, err)
	return v
}

func at(d time.Duration) *time.Time {
	t := now.Add(d)
	return &t
}

func TestCreateRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	storetest.Subject(t, b.Store, models.Environment{ID: b.Scope.Environment, TenantID: b.Scope.Tenant}, "user_1")
	for name, c := range map[string]struct {
		in  evaluation.Create
		loc []any
		typ string
	}{
		"an unknown key":                  {evaluation.Create{ActionKeys: []string{"payments.transfer", "nothing"}}, []any{"body", "action_keys", 1}, "unknown_action"},
		"a repeated key":                  {evaluation.Create{ActionKeys: []string{"payments.transfer", "payments.transfer"}}, []any{"body", "action_keys", 1}, "duplicate_item"},
		"an end before start":             {evaluation.Create{ActionKeys: []string{"payments.transfer"}, StartsAt: at(time.Hour), EndsAt: at(time.Minute)}, []any{"body", "ends_at"}, "window_invalid"},
		"an end at the start":             {evaluation.Create{ActionKeys: []string{"payments.transfer"}, EndsAt: at(0)}, []any{"body", "ends_at"}, "window_invalid"},
		"a name with the id of a subject": {evaluation.Create{Name: "Payments (user_1), autumn", ActionKeys: []string{"payments.transfer"}}, []any{"body", "name"}, "value_error"},
	} {
		_, err := b.service.Create(t.Context(), b.Principal("crd_1"), c.in)
		p := problem.As(err)
		require.NotNil(t, p, name)
		require.Equal(t, problem.Unprocessable, p.Code, name)
		require.Equal(t, c.loc, p.Fields[0].Loc, name)
		require.Equal(t, c.typ, p.Fields[0].Type, name)
	}
	require.Equal(t, 0, b.Count("select count(*) from evaluations"))
}

func TestCreateStartsAWorkflow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v := b.create(t, evaluation.Create{EndsAt: at(time.Hour)})
	require.Equal(t, "open", v.Status)
	require.Equal(t, "2026-03-01T10:00:00.000Z", *v.EndsAt)
	require.Equal(t, 1, b.Count("select count(*) from outbox where topic = 'evaluation.start' and ref = $1", v.ID))
	run, waiting, err := b.service.WorkflowInput(t.Context(), b.Scope.Environment, v.ID)
	require.NoError(t, err)
	require.True(t, waiting)
	require.Equal(t, evaluation.WorkflowInput{Evaluation: v.ID, Environment: b.Scope.Environment, EndsAt: at(time.Hour)}, run)
}

// Every figure of the report, over decisions of which each differs from the others in one way.
func TestReportCounts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	text := func(s string) *string { return &s }
	other := b.AddAction("other")
	b.decide(now.Add(-time.Microsecond), nil)                                                      // before the window
	b.decide(now.Add(time.Hour), nil)                                                              // at its end, which is outside
	b.decide(now, func(a *models.Authorization) { a.ActionID, a.ActionKey = other.ID, other.Key }) // another action
	for i := range 100 {
		b.decide(now.Add(time.Duration(i)*time.Second), func(a *models.Authorization) {
			a.LatencyMS = i + 1
			switch {
			case i < 10:
				a.Decision, a.Outcome = "challenge", text("false_challenge")
			case i < 20:
				a.Decision, a.Outcome = "challenge", text("executed")
			case i < 30:
				a.Decision = "challenge"
			case i < 40:
				a.Decision, a.Outcome = "deny", text("unknown")
			case i < 60:
				a.Insufficient, a.Coverage = true, "none"
			case i < 65:
				a.Mode = models.ModeEnforce
			case i < 70:
				a.OperatorChanged = true
			}
		})
	}
	v := b.create(t, evaluation.Create{EndsAt: at(time.Hour), Criteria: evaluation.Criteria{MinShadowDecisions: 96, MinOutcomeCoverage: 0.2, MaxAbstentionRate: 0.2}})
	b.clock.Advance(30 * time.Minute)
	r, err := b.service.Report(t.Context(), b.Scope, v.ID)
	require.NoError(t, err)
	m := r.Metrics
	require.Equal(t, int64(100), m.Decisions)
	require.Equal(t, map[string]int64{"allow": 60, "challenge": 30, "hold": 0, "deny": 10}, m.ByDecision)
	require.Equal(t, map[string]int64{"test": 0, "shadow": 95, "enforce": 5}, m.ByMode)
	require.Equal(t, map[string]int64{"none": 20, "sparse": 0, "partial": 80, "sufficient": 0}, m.Coverage)
	require.Equal(t, map[string]int64{"false_challenge": 10, "executed": 10, "unknown": 10}, m.Outcomes)
	require.Equal(t, int64(5), m.OperatorChanges)
	require.Equal(t, int64(30), m.Challenges)
	require.InDelta(t, 0.2, m.OutcomeCoverage, 1e-12)
	require.InDelta(t, 0.2, *m.AbstentionRate, 1e-12)
	require.InDelta(t, 0.5, *m.FalseChallengeRate, 1e-12)
	require.Equal(t, []int64{50, 95, 99}, []int64{*m.LatencyMS["p50"], *m.LatencyMS["p95"], *m.LatencyMS["p99"]})
	require.Equal(t, map[string]bool{"min_shadow_decisions": false, "min_outcome_coverage": true, "max_abstention_rate": true}, r.Checks)
	require.Equal(t, "in_progress", r.Result)
}

func TestReportWithoutDecisions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v := b.create(t, evaluation.Create{})
	r, err := b.service.Report(t.Context(), b.Scope, v.ID)
	require.NoError(t, err)
	require.Zero(t, r.Metrics.Decisions)
	require.Zero(t, r.Metrics.OutcomeCoverage)
	require.Nil(t, r.Metrics.AbstentionRate)
	require.Nil(t, r.Metrics.FalseChallengeRate)
	require.Nil(t, r.Metrics.LatencyMS["p50"])
	require.Equal(t, map[string]bool{"min_shadow_decisions": false, "min_outcome_coverage": false, "max_abstention_rate": false}, r.Checks)
}

// What was counted at the close stays, whatever is decided or reported afterwards.
func TestCloseStoresTheReport(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.decide(now, nil)
	v := b.create(t, evaluation.Create{Criteria: evaluation.Criteria{MinShadowDecisions: 1, MinOutcomeCoverage: 0, MaxAbstentionRate: 1}})
	b.clock.Advance(time.Hour)
	move := evaluation.Move{Environment: b.Scope.Environment, ID: v.ID, Actor: "credential:crd_1", At: b.clock.Now(), WorkflowID: "evaluation/" + v.ID}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { _, _ = b.service.Close(t.Context(), move) })
	}
	all.Wait()
	out, err := b.service.Close(t.Context(), move)
	require.NoError(t, err)
	require.Equal(t, models.EvaluationClosed, out.Status)
	require.Equal(t, "passed", out.Result)
	require.Equal(t, 1, b.Events("evaluation.closed"))

	b.decide(now.Add(time.Minute), nil)
	r, err := b.service.Report(t.Context(), b.Scope, v.ID)
	require.NoError(t, err)
	require.Equal(t, int64(1), r.Metrics.Decisions)
	require.Equal(t, "passed", r.Result)
	_, err = b.service.PrepareClose(t.Context(), b.Scope, v.ID)
	require.True(t, problem.Is(err, problem.EvaluationClosed), "%v", err)
}

func TestCloseByTimeOnlyAtTheEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v := b.create(t, evaluation.Create{EndsAt: at(time.Hour)})
	out, err := b.service.Close(t.Context(), evaluation.Move{Environment: b.Scope.Environment, ID: v.ID, At: now.Add(time.Hour - time.Microsecond), WorkflowID: "w"})
	require.NoError(t, err)
	require.Equal(t, models.EvaluationOpen, out.Status)

	b.clock.Advance(time.Hour)
	shown, err := b.service.Get(t.Context(), b.Scope, v.ID)
	require.NoError(t, err)
	require.Equal(t, "closed", shown.Status, "however late the timer")
	early, err := b.service.Report(t.Context(), b.Scope, v.ID)
	require.NoError(t, err)
	require.Equal(t, "failed", early.Result)
	out, err = b.service.Close(t.Context(), evaluation.Move{Environment: b.Scope.Environment, ID: v.ID, At: now.Add(time.Hour), WorkflowID: "w"})
	require.NoError(t, err)
	require.Equal(t, "failed", out.Result)
}

func TestListByEffectiveStatus(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ends := b.create(t, evaluation.Create{EndsAt: at(time.Hour)})
	b.clock.Advance(time.Second)
	open := b.create(t, evaluation.Create{})
	b.clock.Advance(time.Hour)
	for status, want := range map[models.EvaluationStatus][]string{"": {open.ID, ends.ID}, models.EvaluationOpen: {open.ID}, models.EvaluationClosed: {ends.ID}} {
		rows, _, err := b.service.List(t.Context(), b.Scope, status, pg.Page{Limit: 10})
		require.NoError(t, err)
		got := []string{}
		for _, r := range rows {
			got = append(got, r.ID)
		}
		require.Equal(t, want, got, "status %q", status)
	}
	rows, _, err := b.service.List(t.Context(), pg.Scope{Tenant: b.Scope.Tenant, Environment: "env_other"}, "", pg.Page{Limit: 10})
	require.NoError(t, err)
	require.Empty(t, rows)
	_, err = b.service.Report(t.Context(), pg.Scope{Tenant: "tnt_other", Environment: b.Scope.Environment}, ends.ID)
	require.ErrorIs(t, err, pg.ErrNotFound)
}
