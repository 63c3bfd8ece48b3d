package store

import (
	"context"
	"fmt"
	"time"
)

// Upkeep deletes what has outlived its retention.
type Retention struct{ *Q }

// Retention returns the queries of the aggregate.
func (q *Q) Retention() Retention { return Retention{q} }

// Expiring is a class of data about people that goes when it is old enough.
type Expiring string

// The classes. What each covers and how long it is kept is said in docs/retention.md.
const (
	ExpiringFrames         Expiring = "frames"
	ExpiringDigests        Expiring = "digests"
	ExpiringSessions       Expiring = "sessions"
	ExpiringTemplates      Expiring = "templates"
	ExpiringAuthorizations Expiring = "authorizations"
	ExpiringDetails        Expiring = "details"
	ExpiringEvents         Expiring = "events"
	ExpiringResearch       Expiring = "research"
)

// expiring removes at most $2 rows from before $1 and returns whose environment each was of.
var expiring = map[Expiring]string{
	ExpiringFrames: `delete from frames where ctid = any (array(select ctid from frames where received_at < $1 limit $2))
		returning environment_id`,
	ExpiringDigests: `delete from frame_digests where ctid = any (array(select ctid from frame_digests where seen_at < $1 limit $2))
		returning environment_id`,
	// A session goes with its frames.
	ExpiringSessions: `delete from sessions where id in (select id from sessions where status <> 'active' and started_at < $1
		and last_activity_at < $1 limit $2)
		returning environment_id`,
	// The version in force is not old, however long it has been in force.
	ExpiringTemplates: `delete from templates where id in (select id from templates where status <> 'active' and updated_at < $1 limit $2)
		returning environment_id`,
	// An authorization goes with its challenge, hold, reviews and proof. What still waits for somebody, and what a later
	// decision follows from, stays.
	ExpiringAuthorizations: `delete from authorizations where id in (select a.id from authorizations a where a.decided_at < $1
		and not exists (select from challenges c where c.authorization_id = a.id and c.status = 'open')
		and not exists (select from holds h where h.authorization_id = a.id and h.status = 'pending')
		and not exists (select from authorizations child where child.parent_id = a.id and child.decided_at >= $1) limit $2)
		returning environment_id`,
	// The details of a request that is still to be confirmed or reviewed stay until it is.
	ExpiringDetails: `delete from shown_details where authorization_id in (select d.authorization_id from shown_details d where d.decided_at < $1
		and not exists (select from challenges c where c.authorization_id = d.authorization_id and c.status = 'open')
		and not exists (select from holds h where h.authorization_id = d.authorization_id and h.status = 'pending') limit $2)
		returning environment_id`,
	// The entry stays, and the audit chain with it; what is personal of it goes.
	ExpiringEvents: `update events set subject_uid = null, subject = null, request_id = null, data = null, salt = null, erased_at = $3
		where id in (select id from events where at < $1 and erased_at is null limit $2) returning environment_id`,
	ExpiringResearch: `delete from research_vectors where id in (select id from research_vectors where created_at < $1 limit $2)
		returning environment_id`,
}

// Counted is how many rows of an environment something was about.
type Counted struct {
	Tenant      string
	Environment string
	Rows        int64
}

// Expire removes what is older than t of a class, at most limit of it, and tells how much of each environment.
func (q Retention) Expire(ctx context.Context, class Expiring, t, at time.Time, limit int) ([]Counted, error) {
	remove, ok := expiring[class]
	if !ok {
		return nil, fmt.Errorf("store: no class %q of data expires", class)
	}
	args := []any{t, limit}
	if class == ExpiringEvents {
		args = append(args, at)
	}
	rows, err := q.query(ctx, `with gone as (`+remove+`)
		select e.tenant_id, e.id, count(*) from gone join environments e on e.id = gone.environment_id group by 1, 2 order by 2`, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []Counted
	for rows.Next() {
		var g Counted
		if err := rows.Scan(&g.Tenant, &g.Environment, &g.Rows); err != nil {
			return nil, err
		}
		out = append(out, g)
	}
	return out, rows.Err()
}
