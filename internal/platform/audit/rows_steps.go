package audit

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// step is an entry that a state machine does not allow.
type step struct {
	Record string
	Event  string
	Types  []string // of the endings, in the order of the log
}

// endedTwice returns at most limit records with several endings.
func endedTwice(ctx context.Context, q *pg.Q, s pg.Scope, e ending, limit int) ([]step, error) {
	const statement = `select record, (array_agg(id order by seq desc))[1], array_agg(type order by seq)
		from (select id, type, seq, case when $4 = '' then authorization_id else data->>$4 end as record
			from events where tenant_id = $1 and environment_id = $2 and type = any($3)) e
		where record is not null group by record having count(*) > 1 order by record limit $5`
	types := make([]string, len(e.types))
	for i, t := range e.types {
		types[i] = string(t)
	}
	return querySteps(ctx, q, statement, s.Tenant, s.Environment, types, e.key, limit)
}

// foreignFollowUps returns at most limit follow-up decisions whose subject is not that of their parent.
func foreignFollowUps(ctx context.Context, q *pg.Q, s pg.Scope, limit int) ([]step, error) {
	const statement = `select c.authorization_id, c.id, array[c.type] from events c
		join events p on p.environment_id = $2 and p.authorization_id = c.data->>'parent' and p.type = 'authorization.decided'
		where c.tenant_id = $1 and c.environment_id = $2 and c.type = 'authorization.decided' and c.data->>'parent' is not null
			and c.subject_uid is distinct from p.subject_uid
		order by c.authorization_id limit $3`
	return querySteps(ctx, q, statement, s.Tenant, s.Environment, limit)
}

// renamedSubjects returns at most limit subjects whose entries disagree about the relying party's id. Erased entries have none.
func renamedSubjects(ctx context.Context, q *pg.Q, s pg.Scope, limit int) ([]step, error) {
	const statement = `select subject_uid, (array_agg(id order by seq desc))[1], array['subject'] from events
		where tenant_id = $1 and environment_id = $2 and subject is not null and subject_uid = any(array(
			select subject_uid from (select distinct subject_uid, subject from events
				where tenant_id = $1 and environment_id = $2 and subject_uid is not null and subject is not null) named
			group by subject_uid having count(*) > 1 order by subject_uid limit $3))
		group by subject_uid order by subject_uid`
	return querySteps(ctx, q, statement, s.Tenant, s.Environment, limit)
}

func querySteps(ctx context.Context, q *pg.Q, statement string, args ...any) ([]step, error) {
	rows, err := q.Query(ctx, statement, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[step])
}
