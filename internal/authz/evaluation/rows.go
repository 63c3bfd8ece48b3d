package evaluation

import (
	"context"
	"encoding/json"
	"time"

	"github.com/countersign-dev/countersign/internal/authz/settle"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

func insertEvaluation(ctx context.Context, q *pg.Q, e models.Evaluation) error {
	return q.Gorm(ctx).Create(&e).Error
}

func getEvaluation(ctx context.Context, q *pg.Q, s pg.Scope, id string) (models.Evaluation, error) {
	var row models.Evaluation
	err := q.Gorm(ctx).Where("tenant_id = ? and environment_id = ? and id = ?", s.Tenant, s.Environment, id).Take(&row).Error
	return pg.OrNotFound(row, err)
}

// lockEvaluation returns an evaluation of an environment, for its workflow, and locks the row until the transaction ends.
func lockEvaluation(ctx context.Context, q *pg.Q, environment, id string) (models.Evaluation, error) {
	var row models.Evaluation
	err := q.Gorm(ctx).Raw("select * from evaluations where environment_id = ? and id = ? for update", environment, id).Take(&row).Error
	return pg.OrNotFound(row, err)
}

// listEvaluations lists evaluations, newest first. A status that is not empty is the effective one at now: an evaluation past its
// end is closed even if its workflow has not closed it yet.
func listEvaluations(ctx context.Context, q *pg.Q, s pg.Scope, status models.EvaluationStatus, now time.Time, p pg.Page) ([]models.Evaluation, string, error) {
	q = q.Old(ctx)
	tx := q.Gorm(ctx).Model(&models.Evaluation{}).Where("tenant_id = ? and environment_id = ?", s.Tenant, s.Environment)
	switch status {
	case models.EvaluationOpen:
		tx = tx.Where("status = 'open' and (ends_at is null or ends_at > ?)", now)
	case models.EvaluationClosed:
		tx = tx.Where("(status = 'closed' or ends_at <= ?)", now)
	}
	tx, err := pg.Paginate(tx, p, "created_at", "id")
	if err != nil {
		return nil, "", err
	}
	var rows []models.Evaluation
	if err := tx.Find(&rows).Error; err != nil {
		return nil, "", err
	}
	rows, next := pg.CutPage(rows, p, func(e models.Evaluation) (time.Time, string) { return e.CreatedAt, e.ID })
	return rows, next, nil
}

// closeEvaluation moves an open evaluation to closed, stores its report and reports whether it did.
func closeEvaluation(ctx context.Context, q *pg.Q, e models.Evaluation, report models.JSON, at time.Time) (bool, error) {
	n, err := q.Exec(ctx, "update evaluations set status = 'closed', closed_at = $2, report = $3 where id = $1 and environment_id = $4 and status = 'open'",
		e.ID, at, report, e.EnvironmentID)
	return n == 1, err
}

// Tally counts the decisions of some actions in a window.
type Tally struct {
	Decisions        int64            `json:"decisions"`
	ByDecision       map[string]int64 `json:"by_decision"`
	ByMode           map[string]int64 `json:"by_mode"`
	ByCoverage       map[string]int64 `json:"by_coverage"`
	ByOutcome        map[string]int64 `json:"by_outcome"`
	Abstentions      int64            `json:"abstentions"`
	OperatorChanged  int64            `json:"operator_changed"`
	ChallengeOutcome int64            `json:"challenge_outcome"` // challenge decisions that have an outcome
	FalseChallenges  int64            `json:"false_challenges"`  // of those, the ones whose outcome is false_challenge
	P50              *int64           `json:"p50"`               // milliseconds; nil without decisions
	P95              *int64           `json:"p95"`
	P99              *int64           `json:"p99"`
}

// tally reads each decision of the window once and groups them into cells with equal values, of which there are few. The
// distributions and quantiles are computed over the cells. A quantile is the nearest rank.
const tally = `with cells as materialized (
	select decision, mode, coverage, outcome, insufficient, operator_changed, latency_ms, count(*) as n
	from authorizations
	where tenant_id = $1 and environment_id = $2 and action_id = any($3) and decided_at >= $4 and decided_at < $5
	group by 1, 2, 3, 4, 5, 6, 7),
ranks as (select latency_ms, sum(sum(n)) over (order by latency_ms) as upto, sum(sum(n)) over () as total
	from cells group by latency_ms),
sums as (select
	coalesce(sum(n), 0) as decisions,
	coalesce(sum(n) filter (where insufficient), 0) as abstentions,
	coalesce(sum(n) filter (where operator_changed), 0) as operator_changed,
	coalesce(sum(n) filter (where decision = 'challenge' and outcome is not null), 0) as challenge_outcome,
	coalesce(sum(n) filter (where decision = 'challenge' and outcome = 'false_challenge'), 0) as false_challenges
	from cells)
select jsonb_build_object(
	'decisions', decisions, 'abstentions', abstentions, 'operator_changed', operator_changed,
	'challenge_outcome', challenge_outcome, 'false_challenges', false_challenges,
	'by_decision', (select coalesce(jsonb_object_agg(k, n), '{}') from (select decision k, sum(n) n from cells group by 1) d),
	'by_mode', (select coalesce(jsonb_object_agg(k, n), '{}') from (select mode k, sum(n) n from cells group by 1) m),
	'by_coverage', (select coalesce(jsonb_object_agg(k, n), '{}') from (select coverage k, sum(n) n from cells group by 1) c),
	'by_outcome', (select coalesce(jsonb_object_agg(k, n), '{}') from
		(select outcome k, sum(n) n from cells where outcome is not null group by 1) o),
	'p50', (select min(latency_ms) from ranks where upto >= 0.50 * total),
	'p95', (select min(latency_ms) from ranks where upto >= 0.95 * total),
	'p99', (select min(latency_ms) from ranks where upto >= 0.99 * total))
from sums`

// Window selects the decisions of some actions (ids) from Since (inclusive) to Until (exclusive).
type Window struct {
	Actions models.Strings
	Since   time.Time
	Until   time.Time
}

// TallyDecisions counts the decisions of a window. A million decisions take about a second, so that the statement has a
// time limit of its own in place of the process's.
func TallyDecisions(ctx context.Context, s *pg.Store, scope pg.Scope, w Window, limit time.Duration) (Tally, error) {
	var t Tally
	err := s.ReadOld(ctx, func(q *pg.Q) error {
		if err := q.LimitStatements(ctx, limit); err != nil {
			return err
		}
		var raw []byte
		if err := q.QueryRow(ctx, tally, scope.Tenant, scope.Environment, w.Actions, w.Since, w.Until).Scan(&raw); err != nil {
			return err
		}
		return json.Unmarshal(raw, &t)
	})
	return t, err
}

// OverdueEvaluations returns at most limit evaluations of any environment that should have closed before t.
func OverdueEvaluations(ctx context.Context, q *pg.Q, t time.Time, limit int) ([]settle.Overdue, error) {
	var rows []settle.Overdue
	err := q.Gorm(ctx).Raw("select environment_id as environment, id from evaluations where status = 'open' and ends_at < ? order by ends_at limit ?", t, limit).Find(&rows).Error
	return rows, err
}

// DayCount is the number of decisions of one day.
type DayCount struct {
	Day   time.Time // its start, in UTC
	Count int64
}

// shadowDays counts the decisions of a window in shadow mode by day, in order. Days without any are left out. The statement has a
// time limit of its own, as TallyDecisions.
func shadowDays(ctx context.Context, s *pg.Store, scope pg.Scope, w Window, limit time.Duration) ([]DayCount, error) {
	var rows []DayCount
	err := s.ReadOld(ctx, func(q *pg.Q) error {
		if err := q.LimitStatements(ctx, limit); err != nil {
			return err
		}
		return q.Gorm(ctx).Raw(`select date_trunc('day', decided_at, 'UTC') as day, count(*) as count from authorizations
			where tenant_id = ? and environment_id = ? and action_id = any(?) and decided_at >= ? and decided_at < ? and mode = 'shadow'
			group by 1 order by 1`, scope.Tenant, scope.Environment, w.Actions, w.Since, w.Until).Find(&rows).Error
	})
	return rows, err
}
