package upkeep

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/subject/research"
)

// dropAttempts deletes at most limit attempts made before t.
func dropAttempts(ctx context.Context, q *pg.Q, t time.Time, limit int) (int64, error) {
	return q.Exec(ctx, "delete from webhook_attempts where id in (select id from webhook_attempts where at < $1 limit $2)", t, limit)
}

// dropDeliveries deletes at most limit settled deliveries created before t. Their attempts are deleted with them or, on a divided database, by
// DropAttempts.
func dropDeliveries(ctx context.Context, q *pg.Q, t time.Time, limit int) (int64, error) {
	return q.Exec(ctx, `delete from webhook_deliveries where (id, event_id) in
		(select id, event_id from webhook_deliveries where created_at < $1 and status <> 'pending' limit $2)`, t, limit)
}

// dropNotices deletes at most limit settled notices created before t.
func dropNotices(ctx context.Context, q *pg.Q, t time.Time, limit int) (int64, error) {
	return q.Exec(ctx, `delete from notices where id in (select id from notices where created_at < $1 and status <> 'pending' limit $2)`, t, limit)
}

// expireRows removes at most limit rows of a class that are older than t and returns their number for each environment.
func expireRows(ctx context.Context, q *pg.Q, class audit.Expiring, t, at time.Time, limit int) ([]research.EnvironmentCount, error) {
	table := pg.ExpiredBy(string(class))
	if table == nil {
		return nil, fmt.Errorf("upkeep: unknown retention class %q", class)
	}
	// A batch may have to read many rows that stay before it finds those that go.
	if err := q.LimitStatements(ctx, 10*time.Minute); err != nil {
		return nil, err
	}
	args := []any{t, limit}
	if table.Retained.Empties != "" {
		args = append(args, at)
	}
	return environmentCounts(ctx, q, table.Expire(), args...)
}

// environmentCounts counts the rows that a statement returns, which are ids of environments.
func environmentCounts(ctx context.Context, q *pg.Q, statement string, args ...any) ([]research.EnvironmentCount, error) {
	rows, err := q.Query(ctx, `with gone as (`+statement+`)
		select e.tenant_id as tenant, e.id as environment, count(*) as rows from gone join environments e on e.id = gone.environment_id group by 1, 2 order by 2`, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[research.EnvironmentCount])
}
