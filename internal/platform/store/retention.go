package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Retention deletes rows that are older than their retention.
type Retention struct{ *Q }

// Retention returns the queries of the aggregate.
func (q *Q) Retention() Retention { return Retention{q} }

// Expiring is a class of personal data with a retention of its own.
type Expiring string

// The classes. docs/retention.md says what each covers and how long it is stored.
const (
	ExpiringFrames         Expiring = "frames"
	ExpiringDigests        Expiring = "digests"
	ExpiringSessions       Expiring = "sessions"
	ExpiringTemplates      Expiring = "templates"
	ExpiringAuthorizations Expiring = "authorizations"
	ExpiringDetails        Expiring = "details"
	ExpiringKept           Expiring = "kept"
	ExpiringNotes          Expiring = "notes"
	ExpiringEvents         Expiring = "events"
	ExpiringResearch       Expiring = "research"
	ExpiringBackgrounds    Expiring = "backgrounds"
)

// expiring has one statement for each class, which removes at most $2 rows from before $1 and returns their environments.
var expiring = map[Expiring]string{
	ExpiringFrames: `delete from frames where (session_id, frame_id, environment_id) in
		(select session_id, frame_id, environment_id from frames where received_at < $1 limit $2) returning environment_id`,
	ExpiringDigests: `delete from frame_digests where (environment_id, digest) in
		(select environment_id, digest from frame_digests where seen_at < $1 limit $2) returning environment_id`,
	// The frames of a session are deleted with it.
	ExpiringSessions: `delete from sessions where id in (select id from sessions where status <> 'active' and started_at < $1
		and last_activity_at < $1 limit $2)
		returning environment_id`,
	// An active version is never deleted, however long it has been active.
	ExpiringTemplates: `delete from templates where id in (select id from templates where status <> 'active' and updated_at < $1 limit $2)
		returning environment_id`,
	// The details of a request stay while its challenge or hold is open.
	ExpiringDetails: `delete from shown_details where authorization_id in (select d.authorization_id from shown_details d where d.decided_at < $1
		and not exists (select from challenges c where c.authorization_id = d.authorization_id and c.status = 'open')
		and not exists (select from holds h where h.authorization_id = d.authorization_id and h.status = 'pending') limit $2)
		returning environment_id`,
	// So does a decision, and one that another follows which stays. Everything that belongs to a decision is deleted with it.
	ExpiringAuthorizations: `delete from authorizations where (id, environment_id) in (select d.id, d.environment_id from authorizations d where d.decided_at < $1
		and not exists (select from challenges c where c.authorization_id = d.id and c.environment_id = d.environment_id and c.status = 'open')
		and not exists (select from holds h where h.authorization_id = d.id and h.environment_id = d.environment_id and h.status = 'pending')
		and not exists (select from authorizations c where c.parent_id = d.id and c.environment_id = d.environment_id and c.decided_at >= $1) limit $2)
		returning environment_id`,
	ExpiringKept: `delete from kept_values where authorization_id in (select authorization_id from kept_values where decided_at < $1 limit $2)
		returning environment_id`,
	// The notes on a hold stay while it is pending.
	ExpiringNotes: `delete from review_notes where (authorization_id, reviewer, note_digest, environment_id) in
		(select n.authorization_id, n.reviewer, n.note_digest, n.environment_id from review_notes n where n.written_at < $1 and not exists
			(select from holds h where h.authorization_id = n.authorization_id and h.environment_id = n.environment_id and h.status = 'pending') limit $2)
		returning environment_id`,
	// The event stays, so that the audit chain can be verified; its personal part is removed.
	ExpiringEvents: `update events set subject_uid = null, subject = null, request_id = null, data = null, salt = null, erased_at = $3
		where id in (select id from events where at < $1 and erased_at is null limit $2) returning environment_id`,
	// The newest stays, because the next is numbered after it, and so does one that active templates were trained with.
	ExpiringBackgrounds: `delete from environment_backgrounds where version in (select b.version from environment_backgrounds b
		where b.status <> 'active' and coalesce(b.retired_at, b.made_at) < $1
		and exists (select from environment_backgrounds n where n.environment_id = b.environment_id and n.modality = b.modality and n.number > b.number)
		and not exists (select from templates t where t.environment_id = b.environment_id and t.modality = b.modality
			and t.model_version = b.version and t.status <> 'retired') limit $2)
		returning environment_id`,
	ExpiringResearch: `delete from research_vectors where id in (select id from research_vectors where created_at < $1 limit $2)
		returning environment_id`,
}

// EnvironmentCount is a number of rows of one environment.
type EnvironmentCount struct {
	Tenant      string
	Environment string
	Rows        int64
}

// Expire removes at most limit rows of a class that are older than t and returns their number for each environment.
func (q Retention) Expire(ctx context.Context, class Expiring, t, at time.Time, limit int) ([]EnvironmentCount, error) {
	remove, ok := expiring[class]
	if !ok {
		return nil, fmt.Errorf("store: unknown retention class %q", class)
	}
	args := []any{t, limit}
	if class == ExpiringEvents {
		args = append(args, at)
	}
	return q.environmentCounts(ctx, remove, args...)
}

// environmentCounts counts the rows that a statement returns, which are ids of environments.
func (q *Q) environmentCounts(ctx context.Context, statement string, args ...any) ([]EnvironmentCount, error) {
	rows, err := q.query(ctx, `with gone as (`+statement+`)
		select e.tenant_id as tenant, e.id as environment, count(*) as rows from gone join environments e on e.id = gone.environment_id group by 1, 2 order by 2`, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[EnvironmentCount])
}
