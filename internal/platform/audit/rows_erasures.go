package audit

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// UnprovenErasure is a completed erasure that no event of the log completes.
type UnprovenErasure struct {
	ID          string
	CompletedAt *time.Time
}

// unprovenErasures returns at most limit erasures that are stored as completed although the log has no subject.erased
// event of that time that names them, or no request of them by the stored actor.
func unprovenErasures(ctx context.Context, q *pg.Q, s pg.Scope, limit int) ([]UnprovenErasure, error) {
	var rows []UnprovenErasure
	err := q.Gorm(ctx).Raw(`select r.id, r.completed_at from erasures r where r.tenant_id = ? and r.environment_id = ? and r.status = 'completed'
		and not exists (select 1 from events e where e.environment_id = r.environment_id and e.type = 'subject.erased' and e.at = r.completed_at
			and (e.data is null or e.data->>'erasure' = r.id)
			and exists (select 1 from events y where y.environment_id = ? and y.type = 'subject.erasure_requested'
				and y.at = r.requested_at and y.actor = r.requested_by)) limit ?`, s.Tenant, s.Environment, s.Environment, limit).Find(&rows).Error
	return rows, err
}

// ErasureClaim is an erasure as a log event describes it, beside the stored one. Status is empty if none is stored.
type ErasureClaim struct {
	Event       string
	Erasure     string
	Status      string
	Kinds       string // the numbers of the receipt according to the log
	KindsStored string
}

// doubtfulErasures returns at most limit completed erasures of the log that are not stored as completed, or are stored
// with other counts.
func doubtfulErasures(ctx context.Context, q *pg.Q, s pg.Scope, limit int) ([]ErasureClaim, error) {
	var rows []ErasureClaim
	err := q.Gorm(ctx).Raw(`select * from (select e.id as event, e.data->>'erasure' as erasure, coalesce(r.status, '') as status,
			coalesce((select string_agg(k, ', ') from jsonb_array_elements_text(e.data->'kinds') as t (k)), '') as kinds,
			coalesce((select string_agg(k || ' ' || v, ', ' order by k || ' ' || v collate "C") from jsonb_each_text(r.removed) as t (k, v)), '') as kinds_stored
			from events e left join erasures r on r.id = e.data->>'erasure' and r.environment_id = e.environment_id
			where e.tenant_id = ? and e.environment_id = ? and e.type = 'subject.erased' and e.data is not null) claims
		where status <> 'completed' or kinds <> kinds_stored limit ?`, s.Tenant, s.Environment, limit).Find(&rows).Error
	return rows, err
}

// byRetention is the condition that retention erased the event e: a retention.executed event of events as old as e has the same time. Its
// older_than is truncated to milliseconds. If its data is gone, it is taken, as in retainedFrom, for the shortest retention of events.
const byRetention = `exists (select 1 from events x where x.environment_id = e.environment_id and x.type = 'retention.executed' and x.at = e.erased_at
	and (x.data is null or x.data->>'class' = 'events')
	and e.at < coalesce((x.data->>'older_than')::timestamptz + interval '1 millisecond', x.at - interval '30 days'))`

// unprovenErased returns at most limit ids of events whose personal part was removed by no erasure and no retention that
// the log records.
func unprovenErased(ctx context.Context, q *pg.Q, s pg.Scope, limit int) ([]string, error) {
	var ids []string
	err := q.Gorm(ctx).Raw(`select e.id from events e where e.tenant_id = ? and e.environment_id = ? and e.erased_at is not null and not `+byRetention+`
		and not exists (select 1 from erasures r where r.environment_id = e.environment_id and r.requested_at <= e.erased_at
			and (r.completed_at is null or e.erased_at <= r.completed_at)
			and exists (select 1 from events y where y.environment_id = r.environment_id and y.type = 'subject.erasure_requested' and y.at = r.requested_at))
		limit ?`, s.Tenant, s.Environment, limit).Find(&ids).Error
	return ids, err
}

// ErasedCounts compares the number of erased events with the number that the stored erasures account for.
type ErasedCounts struct {
	Erased    int64 // by an erasure
	Accounted int64
	Erasures  int64
}

// erasedCounts counts the erased events of an environment. It leaves out events that retention erased, which are proven
// one by one.
func erasedCounts(ctx context.Context, q *pg.Q, s pg.Scope) (ErasedCounts, error) {
	var c ErasedCounts
	err := q.QueryRow(ctx, `select
		(select count(*) from events e where e.tenant_id = $1 and e.environment_id = $2 and e.erased_at is not null and not `+byRetention+`),
		coalesce(sum((r.removed->>'events')::bigint), 0), count(*) from erasures r where r.tenant_id = $1 and r.environment_id = $2`,
		s.Tenant, s.Environment).Scan(&c.Erased, &c.Accounted, &c.Erasures)
	return c, err
}

// EraseEvents removes the personal part of at most limit of the subject's events. The rows stay, so that the audit chain
// can still be verified.
func EraseEvents(ctx context.Context, q *pg.Q, environment, uid string, at time.Time, limit int) (int64, error) {
	return q.Exec(ctx, `update events set subject_uid = null, subject = null, request_id = null, data = null, salt = null, erased_at = $2
		where environment_id = $4 and id in (select id from events where environment_id = $4 and subject_uid = $1 limit $3)`, uid, at, limit, environment)
}
