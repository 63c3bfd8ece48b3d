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

// expiring has one statement for each class, which removes at most $2 rows from before $1 and returns their environments.
var expiring = map[audit.Expiring]string{
	audit.ExpiringFrames: `delete from frames where (session_id, frame_id, environment_id) in
		(select session_id, frame_id, environment_id from frames where received_at < $1 limit $2) returning environment_id`,
	audit.ExpiringDigests: `delete from frame_digests where (environment_id, digest) in
		(select environment_id, digest from frame_digests where seen_at < $1 limit $2) returning environment_id`,
	// The frames of a session are deleted with it.
	audit.ExpiringSessions: `delete from sessions where id in (select id from sessions where status <> 'active' and started_at < $1
		and last_activity_at < $1 limit $2)
		returning environment_id`,
	// An active version is never deleted, however long it has been active.
	audit.ExpiringTemplates: `delete from templates where id in (select id from templates where status <> 'active' and updated_at < $1 limit $2)
		returning environment_id`,
	// The details of a request stay while its challenge or hold is open.
	audit.ExpiringDetails: `delete from shown_details where authorization_id in (select d.authorization_id from shown_details d where d.decided_at < $1
		and not exists (select from challenges c where c.authorization_id = d.authorization_id and c.status = 'open')
		and not exists (select from holds h where h.authorization_id = d.authorization_id and h.status = 'pending') limit $2)
		returning environment_id`,
	// So does a decision, and one that another follows which stays. Everything that belongs to a decision is deleted with it.
	audit.ExpiringAuthorizations: `delete from authorizations where (id, environment_id) in (select d.id, d.environment_id from authorizations d where d.decided_at < $1
		and not exists (select from challenges c where c.authorization_id = d.id and c.environment_id = d.environment_id and c.status = 'open')
		and not exists (select from holds h where h.authorization_id = d.id and h.environment_id = d.environment_id and h.status = 'pending')
		and not exists (select from authorizations c where c.parent_id = d.id and c.environment_id = d.environment_id and c.decided_at >= $1) limit $2)
		returning environment_id`,
	audit.ExpiringKept: `delete from kept_values where authorization_id in (select authorization_id from kept_values where decided_at < $1 limit $2)
		returning environment_id`,
	// No rule looks back further. What is open counts for as long as it is.
	audit.ExpiringAggregates: `delete from aggregate_values where (request_id, field, decision, environment_id) in
		(select request_id, field, decision, environment_id from aggregate_values where reserved_at < $1 and reserved <> 'open' limit $2) returning environment_id`,
	// The notes on a hold stay while it is pending.
	audit.ExpiringNotes: `delete from review_notes where (authorization_id, reviewer, note_digest, environment_id) in
		(select n.authorization_id, n.reviewer, n.note_digest, n.environment_id from review_notes n where n.written_at < $1 and not exists
			(select from holds h where h.authorization_id = n.authorization_id and h.environment_id = n.environment_id and h.status = 'pending') limit $2)
		returning environment_id`,
	// The event stays, so that the audit chain can be verified; its personal part is removed, unless something that is stored is compared with it.
	audit.ExpiringEvents: `update events set subject_uid = null, subject = null, request_id = null, data = null, salt = null, erased_at = $3
		where id in (select v.id from events v where v.at < $1 and v.erased_at is null and ` + audit.NoEvidence + ` limit $2) returning environment_id`,
	// The newest stays, because the next is numbered after it, and so does one that active templates were trained with.
	audit.ExpiringBackgrounds: `delete from environment_backgrounds where version in (select b.version from environment_backgrounds b
		where b.status <> 'active' and coalesce(b.retired_at, b.made_at) < $1
		and exists (select from environment_backgrounds n where n.environment_id = b.environment_id and n.modality = b.modality and n.number > b.number)
		and not exists (select from templates t where t.environment_id = b.environment_id and t.modality = b.modality
			and t.model_version = b.version and t.status <> 'retired') limit $2)
		returning environment_id`,
	audit.ExpiringResearch: `delete from research_vectors where id in (select id from research_vectors where created_at < $1 limit $2)
		returning environment_id`,
}

// expireRows removes at most limit rows of a class that are older than t and returns their number for each environment.
func expireRows(ctx context.Context, q *pg.Q, class audit.Expiring, t, at time.Time, limit int) ([]research.EnvironmentCount, error) {
	remove, ok := expiring[class]
	if !ok {
		return nil, fmt.Errorf("store: unknown retention class %q", class)
	}
	args := []any{t, limit}
	if class == audit.ExpiringEvents {
		args = append(args, at)
	}
	return environmentCounts(ctx, q, remove, args...)
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
