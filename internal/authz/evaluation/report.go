package evaluation

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Results of a report.
const (
	InProgress = "in_progress"
	Passed     = "passed"
	Failed     = "failed"
)

// Report is the contract's EvaluationReport.
type Report struct {
	View
	Metrics Metrics `json:"metrics"`
	// Checks has one entry per criterion, true if it is met.
	Checks map[string]bool `json:"checks"`
	// Result is InProgress while the evaluation is open, then Passed or Failed.
	Result string `json:"result"`
}

// Metrics is the contract's EvaluationMetrics. docs/trying-policies.md defines each metric.
type Metrics struct {
	// Decisions counts all decisions of the actions in the window, in every mode, including follow-up decisions.
	Decisions int64 `json:"decisions"`
	// ByDecision has a count for every effect, also if it is 0; ByMode and Coverage likewise.
	ByDecision map[string]int64 `json:"by_decision"`
	ByMode     map[string]int64 `json:"by_mode"`
	Coverage   map[string]int64 `json:"coverage_distribution"`
	// Outcomes counts the reported outcomes only.
	Outcomes map[string]int64 `json:"outcomes"`
	// OperatorChanges is experimental and part of no check.
	OperatorChanges int64 `json:"experimental_operator_change_indicators"`
	Challenges      int64 `json:"challenges"`
	// OutcomeCoverage is 0 to 1: decisions with an outcome other than unknown, of all decisions.
	OutcomeCoverage float64 `json:"outcome_coverage"`
	// LatencyMS has the quantiles p50, p95 and p99 in milliseconds; nil without decisions.
	LatencyMS map[string]*int64 `json:"decision_latency_ms"`
	Note      string            `json:"note"`
	// AbstentionRate is 0 to 1; nil without decisions.
	AbstentionRate *float64 `json:"abstention_rate"`
	// FalseChallengeRate is 0 to 1; nil unless a challenge decision has an outcome.
	FalseChallengeRate *float64 `json:"false_challenge_proxy"`
}

// note is part of every report, so that a reader needs no documentation to know what was counted.
const note = "Counts and distributions cover every decision of the actions in the window, new decisions after a challenge or a " +
	"review included; min_shadow_decisions counts mode shadow alone. Rates are shares of all decisions, and " +
	"false_challenge_proxy a share of the challenge decisions that have an outcome."

// measured is the part of a report that a closed evaluation stores.
type measured struct {
	Metrics Metrics         `json:"metrics"`
	Checks  map[string]bool `json:"checks"`
	Result  string          `json:"result"`
}

// The limits of concurrent reports of open evaluations in one process: in total, per tenant, and waiting. Counting occupies a database
// connection for up to readWithin.
const (
	reportsAtOnce = 4
	reportsEach   = 1
	reportsQueue  = 16
	reportsWait   = 2 * time.Second
)

// Report returns the stored report of a closed evaluation, and counts the decisions of an open one. It is unavailable while too many
// are counted.
func (s *Service) Report(ctx context.Context, scope pg.Scope, id string) (Report, error) {
	row, err := getEvaluation(ctx, s.store.Q, scope, id)
	if err != nil {
		return Report{}, err
	}
	v, err := s.view(row)
	if err != nil {
		return Report{}, err
	}
	if row.Status != models.EvaluationClosed {
		if err := s.reports.Enter(ctx, scope.Tenant, reportsWait); err != nil {
			return Report{}, problem.NewUnavailable("Too many evaluation reports are in progress. Retry the request.", err)
		}
		defer s.reports.Leave(scope.Tenant)
	}
	m, err := s.measure(ctx, row, s.clock.Now(), readWithin)
	return Report{View: v, Metrics: m.Metrics, Checks: m.Checks, Result: m.Result}, err
}

// How long counting may take: while a caller waits for a report, and in the background when the evaluation closes.
const (
	readWithin  = 8 * time.Second
	closeWithin = 110 * time.Second
)

// measure returns the stored figures of a closed evaluation, and counts those of an open one up to now or its end.
func (s *Service) measure(ctx context.Context, row models.Evaluation, now time.Time, within time.Duration) (measured, error) {
	var m measured
	if row.Status == models.EvaluationClosed {
		if err := json.Unmarshal(row.Report, &m); err != nil {
			return m, fmt.Errorf("report of %s: %w", row.ID, err)
		}
		return m, nil
	}
	criteria, err := criteriaOf(row)
	if err != nil {
		return m, err
	}
	// Decisions after the end do not count, even if the report is computed later.
	until := now
	if row.EndsAt != nil && row.EndsAt.Before(until) {
		until = *row.EndsAt
	}
	t, err := TallyDecisions(ctx, s.store, pg.Scope{Tenant: row.TenantID, Environment: row.EnvironmentID},
		Window{Actions: row.ActionIDs, Since: row.StartsAt, Until: until}, within)
	if err != nil {
		return m, err
	}
	return judge(t, criteria, Effective(row, now)), nil
}

// judge computes the metrics, one check per criterion and, once the evaluation is closed, the result.
func judge(t Tally, c Criteria, status models.EvaluationStatus) measured {
	m := Metrics{
		Decisions:  t.Decisions,
		ByDecision: filled(t.ByDecision, "allow", "challenge", "hold", "deny"),
		ByMode:     filled(t.ByMode, "test", "shadow", "enforce"),
		Coverage:   filled(t.ByCoverage, "none", "sparse", "partial", "sufficient"),
		Outcomes:   filled(t.ByOutcome),
		LatencyMS:  map[string]*int64{"p50": t.P50, "p95": t.P95, "p99": t.P99},
		Note:       note, OperatorChanges: t.OperatorChanged,
	}
	m.Challenges = m.ByDecision["challenge"]
	m.AbstentionRate = share(t.Abstentions, t.Decisions)
	m.FalseChallengeRate = share(t.FalseChallenges, t.ChallengeOutcome)
	if covered := share(known(t.ByOutcome), t.Decisions); covered != nil {
		m.OutcomeCoverage = *covered
	}
	checks := map[string]bool{
		"min_shadow_decisions": m.ByMode["shadow"] >= c.MinShadowDecisions,
		"min_outcome_coverage": m.OutcomeCoverage >= c.MinOutcomeCoverage,
		// Without decisions there is no rate, and the check fails.
		"max_abstention_rate": m.AbstentionRate != nil && *m.AbstentionRate <= c.MaxAbstentionRate,
	}
	return measured{Metrics: m, Checks: checks, Result: result(checks, status)}
}

// result returns whether every check passed; an open evaluation is in progress.
func result(checks map[string]bool, status models.EvaluationStatus) string {
	if status == models.EvaluationOpen {
		return InProgress
	}
	for _, ok := range checks {
		if !ok {
			return Failed
		}
	}
	return Passed
}

// filled returns the counts with a zero for each missing key.
func filled(counts map[string]int64, keys ...string) map[string]int64 {
	out := make(map[string]int64, len(keys))
	for _, k := range keys {
		out[k] = 0
	}
	for k, n := range counts {
		out[k] = n
	}
	return out
}

// known counts the outcomes other than unknown.
func known(outcomes map[string]int64) int64 {
	var n int64
	for outcome, count := range outcomes {
		if outcome != "unknown" {
			n += count
		}
	}
	return n
}

// share returns part divided by whole; nil if whole is zero.
func share(part, whole int64) *float64 {
	if whole == 0 {
		return nil
	}
	s := float64(part) / float64(whole)
	return &s
}
