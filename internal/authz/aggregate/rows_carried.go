package aggregate

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// resourcesOf returns the digests of the resources by which requests of the subject are counted.
func resourcesOf(ctx context.Context, q *pg.Q, s models.Subject) ([]string, error) {
	rows, err := q.Query(ctx, `select distinct resource_digest from aggregate_values
		where environment_id = $1 and subject_uid = $2 and resource_digest is not null`, s.EnvironmentID, s.UID)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// carry replaces the rows of a subject since a time by those of a holder and of resources, without the request and without each other. What
// waited is cancelled by the erasure, so that it counts no more. Each decision and each security event becomes a row, since its own is deleted.
func carry(ctx context.Context, q *pg.Q, s models.Subject, holder string, resources map[string]string, since time.Time) (int64, error) {
	var from, to []string
	for digest, carried := range resources {
		from, to = append(from, digest), append(to, carried)
	}
	const (
		columns = `insert into aggregate_values (request_id, tenant_id, environment_id, subject_uid, resource_digest, field, action_key, decision, first,
			currency, amount, digest, decided_at, reserved, reserved_at) select '` + carriedPrefix + `' || gen_random_uuid(), `
		settled = `case v.reserved when 'open' then 'released' else v.reserved end, v.reserved_at`
		values  = ` from aggregate_values v `
		own     = ` where v.environment_id = $1 and v.subject_uid = $2 and v.reserved_at > $3`
	)
	for _, insert := range []struct {
		query string
		args  []any
	}{
		{columns + `v.tenant_id, v.environment_id, '', r.carried, v.field, v.action_key, v.decision, v.first, v.currency, v.amount,
			case v.field when '@subject' then $6::bytea else v.digest end, v.decided_at, ` + settled + values +
			`join unnest($4::text[], $5::text[]) r (digest, carried) on r.digest = v.resource_digest` + own,
			[]any{s.EnvironmentID, s.UID, since, from, to, []byte(holder)}},
		{columns + `v.tenant_id, v.environment_id, $4, null, v.field, v.action_key, v.decision, v.first, v.currency, v.amount, v.digest, v.decided_at, ` +
			settled + values + own + ` and v.field <> '@subject'`, []any{s.EnvironmentID, s.UID, since, holder}},
		{columns + `a.tenant_id, a.environment_id, $4, null, '` + DecisionsField + `', a.action_key, a.decision, false, '', null::numeric, null::bytea, a.decided_at, 'no', a.decided_at
			from authorizations a where a.environment_id = $1 and a.subject_uid = $2 and a.decided_at > $3`, []any{s.EnvironmentID, s.UID, since, holder}},
		{columns + `x.tenant_id, x.environment_id, $4, null, '` + SignalsField + `', x.type, 'deny', false, '', null::numeric, null::bytea, x.at, 'no', x.received_at
			from signals x where x.environment_id = $1 and x.subject_uid = $2 and x.at > $3 and not x.eased`, []any{s.EnvironmentID, s.UID, since, holder}},
	} {
		if _, err := q.Exec(ctx, insert.query, insert.args...); err != nil {
			return 0, err
		}
	}
	return q.Exec(ctx, "delete from aggregate_values where environment_id = $1 and subject_uid = $2", s.EnvironmentID, s.UID)
}

// takeOver moves the rows of holders to a subject.
func takeOver(ctx context.Context, q *pg.Q, s models.Subject, holders []string) error {
	_, err := q.Exec(ctx, `update aggregate_values set subject_uid = $3
		where environment_id = $1 and subject_uid = any ($2)`, s.EnvironmentID, holders, s.UID)
	return err
}
