package chaos

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/platform/events"
)

// gather reads the final state of an environment from the database.
func gather(ctx context.Context, url, environment string) (Facts, error) {
	f := Facts{
		Proofs: map[string]string{}, Challenges: map[string]Settled{}, Holds: map[string]Settled{}, Frames: map[Taken]int{},
		Events: map[string]Event{}, Sealed: map[string]int{}, Waiting: map[string]int{},
	}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return f, err
	}
	defer func() { _ = conn.Close(ctx) }()
	var a, b, c string
	var d Decision
	steps := []struct {
		query string
		into  []any
		row   func()
	}{
		{`select id, coalesce(idempotency_key, ''), coalesce(parent_id, ''), decision, response::text from authorizations where environment_id = $1`,
			[]any{&d.ID, &d.Key, &d.Parent, &d.Decision, &d.Answer}, func() {
				f.Decisions = append(f.Decisions, d)
			}},
		{`select jti, status, '' from proofs where environment_id = $1`, []any{&a, &b, &c}, func() { f.Proofs[a] = b }},
		{`select id, status, coalesce(child_authorization_id, '') from challenges where environment_id = $1`,
			[]any{&a, &b, &c}, func() { f.Challenges[a] = Settled{b, c} }},
		{`select authorization_id, status, coalesce(child_authorization_id, '') from holds where environment_id = $1`,
			[]any{&a, &b, &c}, func() { f.Holds[a] = Settled{b, c} }},
		{`select session_id, frame_id, '' from frames where environment_id = $1`, []any{&a, &b, &c}, func() { f.Frames[Taken{a, b}]++ }},
		{`select id, type, coalesce(authorization_id, '') from events where environment_id = $1`, []any{&a, &b, &c}, func() {
			f.Events[a] = Event{Type: b, Authorization: c, Public: events.Type(b).Public()}
		}},
		{`select event_id, '', '' from audit_chain where environment_id = $1`, []any{&a, &b, &c}, func() { f.Sealed[a]++ }},
	}
	for _, s := range steps {
		rows, err := conn.Query(ctx, s.query, environment)
		if err != nil {
			return f, err
		}
		if _, err := pgx.ForEachRow(rows, s.into, func() error { s.row(); return nil }); err != nil {
			return f, err
		}
	}
	f.Waiting, err = waiting(ctx, conn)
	return f, err
}

// waiting counts by kind what has not ended yet.
func waiting(ctx context.Context, conn *pgx.Conn) (map[string]int, error) {
	rows, err := conn.Query(ctx, `select 'open challenges', count(*) from challenges where status = 'open'
		union all select 'pending holds', count(*) from holds where status = 'pending'
		union all select 'rows of the outbox', count(*) from outbox
		union all select 'deliveries', count(*) from webhook_deliveries where status not in ('succeeded')
		union all select 'unsealed events', count(*) from events e where not exists (select 1 from audit_chain c where c.environment_id = e.environment_id and c.event_id = e.id)
			and exists (select 1 from environments v where v.id = e.environment_id)`)
	if err != nil {
		return nil, err
	}
	out, what, n := map[string]int{}, "", 0
	_, err = pgx.ForEachRow(rows, []any{&what, &n}, func() error { out[what] = n; return nil })
	return out, err
}
