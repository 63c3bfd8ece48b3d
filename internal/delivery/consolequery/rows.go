package consolequery

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// actionOfDecision returns the action that an authorization of the environment was about, archived or not.
func actionOfDecision(ctx context.Context, q *pg.Q, s pg.Scope, authorization string) (models.Action, error) {
	var a models.Action
	return pg.OrNotFound(a, q.Gorm(ctx).Raw(`select c.* from actions c join authorizations a on a.action_id = c.id
		where a.tenant_id = ? and a.environment_id = ? and a.id = ?`, s.Tenant, s.Environment, authorization).Take(&a).Error)
}

// actionNames returns the names of the environment's actions by their keys.
func actionNames(ctx context.Context, q *pg.Q, s pg.Scope) (map[string]string, error) {
	rows, err := q.Query(ctx, "select key, name from actions where tenant_id = $1 and environment_id = $2", s.Tenant, s.Environment)
	if err != nil {
		return nil, err
	}
	names, key, name := map[string]string{}, "", ""
	_, err = pgx.ForEachRow(rows, []any{&key, &name}, func() error {
		names[key] = name
		return nil
	})
	return names, err
}

// countingHours returns the keys of the environment's actions whose policy in force counts working hours.
func countingHours(ctx context.Context, q *pg.Q, s pg.Scope) ([]string, error) {
	var keys []string
	err := q.Gorm(ctx).Raw(`select a.key from actions a join policy_versions p on p.action_id = a.id and p.version = a.active_policy_version
		where a.tenant_id = ? and a.environment_id = ? and p.environment_id = a.environment_id and a.archived_at is null
			and p.requirements->>'hours' = 'working' order by a.key`, s.Tenant, s.Environment).Find(&keys).Error
	return keys, err
}

// outboxBacklogs returns, for each topic, the number of outbox rows of the environment and since when the oldest waits. A row that has failed waits too, although it
// is not due until its next attempt.
func outboxBacklogs(ctx context.Context, q *pg.Q, s pg.Scope, now time.Time) ([]Backlog, error) {
	var rows []Backlog
	err := q.Gorm(ctx).Raw(`select o.topic, count(*) as waiting, min(o.created_at) as oldest from outbox o
		join environments e on e.id = o.environment_id where e.tenant_id = ? and e.id = ? and o.created_at <= ?
		group by o.topic order by o.topic`, s.Tenant, s.Environment, now).Find(&rows).Error
	return rows, err
}

// refusedRecords names the records that the audit log says were changed outside of the service, since a time.
func refusedRecords(ctx context.Context, q *pg.Q, s pg.Scope, since time.Time) ([]string, error) {
	var names []string
	err := q.Gorm(ctx).Raw(`select distinct data->>'table' || ' ' || (data->>'record') as name from events
		where tenant_id = ? and environment_id = ? and type = ? and at > ?`,
		s.Tenant, s.Environment, string(events.RecordAltered), since).Find(&names).Error
	return names, err
}

// Late is a number of records and the time since which the oldest of them is late; nil if there is none.
type Late struct {
	Count int64
	Since *time.Time
}

// failingEndpoints counts the enabled webhook endpoints of the environment whose last attempts failed, since the first failure.
func failingEndpoints(ctx context.Context, q *pg.Q, s pg.Scope) (Late, error) {
	return lateRows(ctx, q, `select count(*), min(failing_since) from webhook_endpoints where tenant_id = $1 and environment_id = $2
		and status = 'enabled' and deleted_at is null and failing_since is not null`, s.Tenant, s.Environment)
}

// dueDeliveries counts the pending deliveries of the environment whose next attempt is due.
func dueDeliveries(ctx context.Context, q *pg.Q, s pg.Scope, now time.Time) (Late, error) {
	return lateRows(ctx, q, `select count(*), min(d.next_attempt_at) from webhook_deliveries d
		join webhook_endpoints e on e.id = d.endpoint_id and e.status = 'enabled' and e.deleted_at is null
		where e.tenant_id = $1 and e.environment_id = $2 and d.environment_id = $2 and d.status = 'pending' and d.next_attempt_at <= $3`,
		s.Tenant, s.Environment, now)
}

// overdueTimers counts the records of the environment that should have expired or closed: their timer did not fire.
func overdueTimers(ctx context.Context, q *pg.Q, s pg.Scope, now time.Time) (Late, error) {
	return lateRows(ctx, q, `select count(*), min(due) from (
		select expires_at as due from challenges where tenant_id = $1 and environment_id = $2 and status = 'open' and expires_at <= $3
		union all
		select due_at from holds where tenant_id = $1 and environment_id = $2 and status = 'pending' and due_at <= $3
		union all
		select expires_at from changes where tenant_id = $1 and environment_id = $2 and status = 'pending' and expires_at <= $3
		union all
		select ends_at from evaluations where tenant_id = $1 and environment_id = $2 and status = 'open' and ends_at <= $3) as overdue`,
		s.Tenant, s.Environment, now)
}

// openAfterReviews counts the reviews of break-glasses that are open, and says since when the oldest is overdue.
func openAfterReviews(ctx context.Context, q *pg.Q, s pg.Scope, now time.Time) (Late, error) {
	return lateRows(ctx, q, `select count(*), min(due_at) filter (where due_at <= $3) from after_reviews
		where tenant_id = $1 and environment_id = $2 and status = 'open'`, s.Tenant, s.Environment, now)
}

// behindDestinations selects the destinations of the log that are behind, with how many entries and since when: those of an environment that is an
// argument, or of all for the one of the destination d.
func behindDestinations(environment string) string {
	return `select h.seq - d.position as entries, l.sealed_at from export_destinations d join audit_heads h on h.environment_id = ` + environment + `
	cross join lateral (select c.sealed_at from audit_chain c where c.environment_id = ` + environment + ` and c.seq > d.position order by c.seq limit 1) l
	where h.seq > d.position`
}

func unexported(ctx context.Context, q *pg.Q, s pg.Scope) (Late, error) {
	return lateRows(ctx, q, "select coalesce(sum(entries), 0)::bigint, min(sealed_at) from ("+behindDestinations("$2")+" and d.tenant_id = $1 and d.environment_id = $2) b", s.Tenant, s.Environment)
}

func lateRows(ctx context.Context, q *pg.Q, query string, args ...any) (Late, error) {
	var l Late
	err := q.QueryRow(ctx, query, args...).Scan(&l.Count, &l.Since)
	return l, err
}

// EndpointBacklog is the number of pending deliveries of one webhook endpoint.
type EndpointBacklog struct {
	EndpointID string
	Waiting    int64
	Oldest     time.Time
}

// endpointBacklogs counts the pending deliveries of the environment's webhook endpoints, by endpoint id.
func endpointBacklogs(ctx context.Context, q *pg.Q, s pg.Scope) (map[string]EndpointBacklog, error) {
	var rows []EndpointBacklog
	err := q.Gorm(ctx).Raw(`select d.endpoint_id, count(*) as waiting, min(d.created_at) as oldest from webhook_deliveries d
		join webhook_endpoints p on p.id = d.endpoint_id and p.environment_id = d.environment_id
		where p.tenant_id = ? and p.environment_id = ? and p.deleted_at is null and d.status = 'pending' group by d.endpoint_id`,
		s.Tenant, s.Environment).Find(&rows).Error
	out := make(map[string]EndpointBacklog, len(rows))
	for _, r := range rows {
		out[r.EndpointID] = r
	}
	return out, err
}

// AuditChainStatus is the length of an audit chain and the number of events that it does not contain yet.
type AuditChainStatus struct {
	Links    int64
	Unsealed int64      // events that wait to be sealed; MostUnsealed stands for any number from it on
	Oldest   *time.Time // time of the oldest unsealed event
}

// MostUnsealed is as far as unsealed events are counted.
const MostUnsealed = 10_000

// lastSealed is the number of the last event that was sealed, of the head h of an environment. What is still to be sealed below it are events of transactions
// that overlapped: the next round seals them.
func lastSealed(environment string) string {
	return `greatest(h.top, coalesce((select l.seq from audit_chain c join events l on l.id = c.event_id and l.environment_id = c.environment_id
	where c.environment_id = ` + environment + ` and c.seq = h.seq), 0))`
}

func auditChain(ctx context.Context, q *pg.Q, s pg.Scope) (AuditChainStatus, error) {
	var c AuditChainStatus
	var last int64
	err := q.QueryRow(ctx, "select h.seq, "+lastSealed("$1")+" from audit_heads h where h.environment_id = $1", s.Environment).Scan(&c.Links, &last)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) { // nothing was ever sealed
		return c, err
	}
	err = q.QueryRow(ctx, `select count(*), min(at) from (select v.at from events v where v.tenant_id = $1 and v.environment_id = $2 and v.seq > $3
		order by v.seq limit $4) waiting`, s.Tenant, s.Environment, last, MostUnsealed).Scan(&c.Unsealed, &c.Oldest)
	return c, err
}

// openChallenges counts the challenges of the environment that are open and not due.
func openChallenges(ctx context.Context, q *pg.Q, s pg.Scope, now time.Time) (int64, error) {
	var n int64
	err := q.QueryRow(ctx, `select count(*) from challenges where tenant_id = $1 and environment_id = $2 and status = 'open'
		and expires_at > $3`, s.Tenant, s.Environment, now).Scan(&n)
	return n, err
}

// Backlog is the number of rows that wait in one topic of the outbox.
type Backlog struct {
	Topic   string
	Waiting int64
	Oldest  time.Time
}

// QueueSigningKey is the kind of Queue that has the active signing keys.
const QueueSigningKey = "signing_key"

// Queue is the number of rows of one kind that wait, and how long the oldest has waited.
type Queue struct {
	Kind   string        // outbox, deliveries, endpoints_failing, challenges_overdue, holds, holds_overdue, changes_overdue, evaluations_overdue, after_reviews, after_reviews_overdue, unsealed, exports, signing_key
	Topic  string        // of the outbox; otherwise empty
	Count  int64         // rows; of unsealed events at most MostUnsealed for each environment
	Oldest time.Duration // time since the oldest was added, was due, was opened or, for a signing key, began to sign
}

// QueryQueues measures every kind of waiting work over all environments, for the operator, who belongs to no tenant. A kind
// without rows is listed with zeros; a topic of the outbox without rows is not listed.
func QueryQueues(ctx context.Context, q *pg.Q, now time.Time) ([]Queue, error) {
	var rows []struct {
		Kind, Topic string
		Count       int64
		Seconds     float64
	}
	err := q.Gorm(ctx).Raw(`
		select 'outbox' as kind, topic, count(*) as count, extract(epoch from @now - min(created_at)) as seconds
		from outbox where created_at <= @now group by topic
		union all
		select 'deliveries', '', count(*), coalesce(extract(epoch from @now - min(next_attempt_at)), 0)
		from webhook_deliveries d join webhook_endpoints e on e.id = d.endpoint_id and e.status = 'enabled' and e.deleted_at is null
		where d.status = 'pending' and d.next_attempt_at <= @now
		union all
		select 'endpoints_failing', '', count(*), coalesce(extract(epoch from @now - min(failing_since)), 0)
		from webhook_endpoints where status = 'enabled' and deleted_at is null and failing_since is not null
		union all
		select 'changes_overdue', '', count(*), coalesce(extract(epoch from @now - min(expires_at)), 0)
		from changes where status = 'pending' and expires_at <= @now
		union all
		select 'evaluations_overdue', '', count(*), coalesce(extract(epoch from @now - min(ends_at)), 0)
		from evaluations where status = 'open' and ends_at <= @now
		union all
		select 'challenges_overdue', '', count(*), coalesce(extract(epoch from @now - min(expires_at)), 0)
		from challenges where status = 'open' and expires_at <= @now
		union all
		select 'holds', '', count(*), coalesce(extract(epoch from @now - min(opened_at)), 0) from holds where status = 'pending'
		union all
		select 'holds_overdue', '', count(*), coalesce(extract(epoch from @now - min(due_at)), 0)
		from holds where status = 'pending' and due_at <= @now
		union all
		select 'after_reviews', '', count(*), coalesce(extract(epoch from @now - min(opened_at)), 0) from after_reviews where status = 'open'
		union all
		select 'after_reviews_overdue', '', count(*), coalesce(extract(epoch from @now - min(due_at)), 0)
		from after_reviews where status = 'open' and due_at <= @now
		union all
		select 'unsealed', '', coalesce(sum(count), 0), coalesce(extract(epoch from @now - min(at)), 0)
		from (select w.* from audit_heads h cross join lateral (select count(*), min(at) as at from (select v.at from events v
				where v.environment_id = h.environment_id and v.seq > `+lastSealed("h.environment_id")+` order by v.seq limit @most) waiting) w
			union all select count(*), min(at) from (select v.at from events v
				where v.environment_id in (select id from environments where id not in (select environment_id from audit_heads)) limit @most) waiting) w
		union all
		select 'exports', '', coalesce(sum(entries), 0)::bigint, coalesce(extract(epoch from @now - min(sealed_at)), 0) from (`+behindDestinations("d.environment_id")+`) b
		union all
		select 'signing_key', '', count(*), coalesce(extract(epoch from @now - min(activated_at)), 0)
		from signing_keys where status = 'active'`, map[string]any{"now": now, "most": MostUnsealed}).Find(&rows).Error
	if err != nil {
		return nil, err
	}
	queues := make([]Queue, len(rows))
	for i, r := range rows {
		queues[i] = Queue{Kind: r.Kind, Topic: r.Topic, Count: r.Count, Oldest: time.Duration(max(r.Seconds, 0) * float64(time.Second))}
	}
	return queues, nil
}

// Found is a record that a search of the console found.
type Found struct {
	ID    string
	Label string // a name, a key, a type or a status
	// Target is the record on whose page it is shown: an authorization, the relying party's id of a subject, or an action.
	Target string
	Number int64 // version of a policy, or number of an entry of the audit log
}

// findable are the records that are found by id, by the prefix of their ids. $1 is the tenant, $2 the environment; @ids stands for
// the condition on the column that follows it.
var findable = map[string]string{
	"azn": `select id, action_key as label, id as target, 0 as number from authorizations where tenant_id = $1 and environment_id = $2 and @ids(id)`,
	"chl": `select id, status as label, authorization_id as target, 0 as number from challenges where tenant_id = $1 and environment_id = $2 and @ids(id)`,
	"prf": `select jti as id, status as label, authorization_id as target, 0 as number from proofs where tenant_id = $1 and environment_id = $2 and @ids(jti)`,
	"ses": `select r.id, r.device_class as label, s.external_id as target, 0 as number from sessions r` + subjectrow.Join("r") + `
		where r.tenant_id = $1 and r.environment_id = $2 and @ids(r.id)`,
	"enr": `select r.id, r.status as label, s.external_id as target, 0 as number from enrollments r` + subjectrow.Join("r") + `
		where r.tenant_id = $1 and r.environment_id = $2 and @ids(r.id)`,
	"evt": `select e.id, e.type as label, coalesce(e.authorization_id, '') as target, c.seq as number from events e join audit_chain c on c.event_id = e.id
		and c.environment_id = e.environment_id where e.tenant_id = $1 and e.environment_id = $2 and @ids(e.id)`,
	"act": `select id, key as label, id as target, 0 as number from actions where tenant_id = $1 and environment_id = $2 and @ids(id)`,
	"pol": `select p.id, a.key as label, p.action_id as target, p.version as number from policy_versions p join actions a on a.id = p.action_id
		and a.environment_id = p.environment_id where p.tenant_id = $1 and p.environment_id = $2 and @ids(p.id)`,
	"whe": `select id, url as label, id as target, 0 as number from webhook_endpoints where tenant_id = $1 and environment_id = $2 and deleted_at is null and @ids(id)`,
	"crd": `select id, case when name = '' then preview else name end as label, id as target, 0 as number from credentials
		where tenant_id = $1 and environment_id = $2 and @ids(id)`,
	"evl": `select id, name as label, id as target, 0 as number from evaluations where tenant_id = $1 and environment_id = $2 and @ids(id)`,
	"chg": `select id, kind as label, id as target, 0 as number from changes where tenant_id = $1 and environment_id = $2 and @ids(id)`,
	"prs": `select p.id, p.name as label, p.id as target, 0 as number from people p where p.tenant_id = $1
		and exists (select from person_roles r where r.person_id = p.id and r.environment_id = $2) and @ids(p.id)`,
}

// idDigits is the number of digits of an id behind its prefix.
const idDigits = 26

// findByID returns at most limit records of a kind whose ids begin with prefix, which includes the kind: azn_01jqx3k5v8. The scan of
// the primary key reads the ids of every environment in the range: the caller bounds it by the length of the prefix. The range is
// that of complete ids, so that it is the same in every collation.
func findByID(ctx context.Context, q *pg.Q, s pg.Scope, kind, prefix string, limit int) ([]Found, error) {
	query, ok := findable[kind]
	if !ok {
		return nil, nil
	}
	return find(ctx, q, byIDQuery(query), limit, s.Tenant, s.Environment, padded(prefix, "0"), padded(prefix, "z"), prefix)
}

// byIDQuery completes the query of a kind.
func byIDQuery(query string) string {
	from, column, _ := strings.Cut(query, "@ids(")
	column = strings.TrimSuffix(column, ")")
	return from + column + " between $3 and $4 and starts_with(" + column + ", $5) order by 1 desc"
}

func padded(prefix, digit string) string {
	kind, digits, _ := strings.Cut(prefix, "_")
	return kind + "_" + digits + strings.Repeat(digit, max(0, idDigits-len(digits)))
}

// findSubjectsByPrefix returns at most limit subjects whose id at the relying party begins with prefix.
func findSubjectsByPrefix(ctx context.Context, q *pg.Q, s pg.Scope, prefix string, limit int) ([]Found, error) {
	rows, err := subjectrow.ListByPrefix(ctx, q, s, prefix, limit)
	out := make([]Found, len(rows))
	for i, r := range rows {
		out[i] = Found{ID: r.UID, Label: r.ExternalID, Target: r.ExternalID}
	}
	return out, err
}

// findActions returns at most limit actions whose key or name contains the text. An environment has few actions.
func findActions(ctx context.Context, q *pg.Q, s pg.Scope, text string, limit int) ([]Found, error) {
	return find(ctx, q, `select id, key as label, id as target, 0 as number from actions where tenant_id = $1 and environment_id = $2
		and (key ilike $3 or name ilike $3) order by archived_at is not null, key`, limit, s.Tenant, s.Environment, containing(text))
}

// findPeople returns at most limit people with a role in the environment whose name contains the text.
func findPeople(ctx context.Context, q *pg.Q, s pg.Scope, text string, limit int) ([]Found, error) {
	return find(ctx, q, `select p.id, p.name as label, p.id as target, 0 as number from people p where p.tenant_id = $1 and p.name ilike $3
		and exists (select from person_roles r where r.person_id = p.id and r.environment_id = $2) order by p.name, p.id`,
		limit, s.Tenant, s.Environment, containing(text))
}

// findEntry returns the entry of the audit log with a number; none if there is none.
func findEntry(ctx context.Context, q *pg.Q, s pg.Scope, number int64) ([]Found, error) {
	return find(ctx, q, `select e.id, e.type as label, coalesce(e.authorization_id, '') as target, c.seq as number from audit_chain c
		join events e on e.id = c.event_id and e.environment_id = c.environment_id
		where e.tenant_id = $1 and c.environment_id = $2 and c.seq = $3`, 1, s.Tenant, s.Environment, number)
}

func find(ctx context.Context, q *pg.Q, query string, limit int, args ...any) ([]Found, error) {
	rows, err := q.Query(ctx, query+" limit "+strconv.Itoa(limit), args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []Found
	for rows.Next() {
		var f Found
		if err := rows.Scan(&f.ID, &f.Label, &f.Target, &f.Number); err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, rows.Err()
}

// containing returns the LIKE pattern of texts that contain the text.
func containing(text string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(text) + "%"
}

// AuditFrom returns the cursor of the page of Audit.Numbered that begins with an entry.
func AuditFrom(number int64) string { return pg.NextCursor(audit.Position(number+1), audit.Numbered) }
