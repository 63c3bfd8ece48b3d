package webhook

import (
	"context"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// insertDeliveries adds pending deliveries of one environment. It ignores a delivery that exists for the same endpoint and event, delivered or not.
func insertDeliveries(ctx context.Context, q *pg.Q, rows []models.WebhookDelivery) error {
	if len(rows) == 0 {
		return nil
	}
	ids, endpoints := make([]string, len(rows)), make([]string, len(rows))
	eventIDs, types, traces := make([]string, len(rows)), make([]string, len(rows)), make([]string, len(rows))
	due := make([]time.Time, len(rows))
	var at time.Time
	for i, d := range rows {
		ids[i], endpoints[i], eventIDs[i], types[i], due[i], at = d.ID, d.EndpointID, d.EventID, d.Type, d.NextAttemptAt, d.CreatedAt
		traces[i] = d.Trace
	}
	_, err := q.Exec(ctx, `insert into webhook_deliveries (id, environment_id, endpoint_id, event_id, type, status, next_attempt_at, created_at, trace)
		select i, $7, p, e, t, 'pending', n, $5, c from unnest($1::text[], $2::text[], $3::text[], $4::text[], $6::timestamptz[], $8::text[]) as d (i, p, e, t, n, c)
		on conflict do nothing`, ids, endpoints, eventIDs, types, at, due, rows[0].EnvironmentID, traces)
	return err
}

// dueDelivery is a delivery with its event. Event is nil if it is gone from the log.
type dueDelivery struct {
	models.WebhookDelivery
	Event *models.Event `gorm:"-"`
}

// dueDeliveries returns at most limit due deliveries of an endpoint, oldest first, except those under way. If probe is set it
// prefers the one with the fewest attempts and, if none is due, takes one that is not due yet: a failing endpoint is
// probed however long its deliveries have been delayed.
func dueDeliveries(ctx context.Context, q *pg.Q, e models.WebhookEndpoint, now time.Time, underWay []string, limit int, probe bool) ([]dueDelivery, error) {
	owed := func(condition string, args ...any) (rows []dueDelivery, err error) {
		tx := q.Gorm(ctx).Model(&models.WebhookDelivery{}).Where("environment_id = ? and endpoint_id = ? and status = 'pending'", e.EnvironmentID, e.ID).Where(condition, args...)
		if len(underWay) > 0 {
			tx = tx.Where("id not in ?", underWay)
		}
		if probe {
			tx = tx.Order("attempts")
		}
		// Events due at the same time are those of one transaction; their ids rise from cause to effect.
		err = tx.Order("next_attempt_at, event_id").Limit(limit).Find(&rows).Error
		return rows, err
	}
	rows, err := owed("next_attempt_at <= ?", now)
	if err == nil && len(rows) == 0 { // a clock that was ahead made or attempted those of the future
		rows, err = owed(`(attempts = 0 and created_at > ?) or (id, attempts) in (
			select delivery_id, attempt from webhook_attempts where environment_id = ? and endpoint_id = ? and at > ?)`, now, e.EnvironmentID, e.ID, now.Add(mostApart))
		for i := range rows {
			rows[i].NextAttemptAt = now
		}
	}
	if err == nil && len(rows) == 0 && probe {
		rows, err = owed("next_attempt_at > ?", now)
	}
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.EventID
	}
	var found []models.Event
	if err := q.Gorm(ctx).Where("environment_id = ? and id in ?", e.EnvironmentID, ids).Find(&found).Error; err != nil {
		return nil, err
	}
	byID := make(map[string]*models.Event, len(found))
	for i := range found {
		byID[found[i].ID] = &found[i]
	}
	for i := range rows {
		rows[i].Event = byID[rows[i].EventID]
	}
	return rows, nil
}

// nextDueDelivery returns the time when the endpoint's next delivery is due, or nil if none is pending.
func nextDueDelivery(ctx context.Context, q *pg.Q, e models.WebhookEndpoint) (*time.Time, error) {
	var at *time.Time
	err := q.QueryRow(ctx, `select min(next_attempt_at) from webhook_deliveries
		where environment_id = $1 and endpoint_id = $2 and status = 'pending'`, e.EnvironmentID, e.ID).Scan(&at)
	return at, err
}

// Attempted is an attempt with what it makes of its delivery.
type Attempted struct {
	models.WebhookAttempt
	Status models.DeliveryStatus
	Next   *time.Time // of the next attempt, if the delivery stays pending
}

// recordAttempts stores attempts of one environment, each of another delivery, and updates the deliveries, in one statement. A delivery
// that was changed since its attempt began stays as it is. No index of pending deliveries matches its condition: with statistics from
// before they became many, the planner would compare each of them with each attempt. Nor does it read all deliveries for the attempts, by a
// plan from when they were few: behind a limit that it does not know it expects one.
func recordAttempts(ctx context.Context, q *pg.Q, made []Attempted) error {
	if len(made) == 0 {
		return nil
	}
	var c attemptColumns
	for _, m := range made {
		c.add(m)
	}
	_, err := q.Exec(ctx, `with made as (select * from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::int[], $8::timestamptz[], $9::int[], $10::int[],
			$11::text[], $12::text[], $13::bool[], $14::text[], $15::timestamptz[])
			as m (id, delivery_id, endpoint_id, event_id, type, attempt, at, status_code, latency_ms, response_digest, error, succeeded, status, next)),
		stored as (insert into webhook_attempts (id, environment_id, delivery_id, endpoint_id, event_id, type, attempt, at, status_code, latency_ms, response_digest, error, succeeded)
			select id, $1, delivery_id, endpoint_id, event_id, type, attempt, at, status_code, latency_ms, response_digest, error, succeeded from made)
		update webhook_deliveries d set status = m.status, attempts = m.attempt, next_attempt_at = coalesce(m.next, d.next_attempt_at),
			settled_at = case when m.status <> 'pending' then m.at end
		from (select * from made limit cardinality($2::text[])) m where d.id = m.delivery_id and d.event_id = m.event_id and d.environment_id = $1 and d.status || '' = 'pending' and d.attempts = m.attempt - 1`,
		made[0].EnvironmentID, c.id, c.delivery, c.endpoint, c.event, c.kind, c.attempt, c.at, c.code, c.latency, c.digest, c.failure, c.succeeded, c.status, c.next)
	return err
}

// attemptColumns are attempts by column.
type attemptColumns struct {
	id, delivery, endpoint, event, kind, status []string
	attempt, latency                            []int
	at                                          []time.Time
	code                                        []*int
	digest, failure                             []*string
	succeeded                                   []bool
	next                                        []*time.Time
}

func (c *attemptColumns) add(m Attempted) {
	c.id, c.delivery, c.endpoint = append(c.id, m.ID), append(c.delivery, m.DeliveryID), append(c.endpoint, m.EndpointID)
	c.event, c.kind, c.status = append(c.event, m.EventID), append(c.kind, m.Type), append(c.status, string(m.Status))
	c.attempt, c.latency, c.at = append(c.attempt, m.Attempt), append(c.latency, m.LatencyMS), append(c.at, m.At)
	c.code, c.digest, c.failure = append(c.code, m.StatusCode), append(c.digest, m.ResponseDigest), append(c.failure, m.Error)
	c.succeeded, c.next = append(c.succeeded, m.Succeeded), append(c.next, m.Next)
}

// discardDelivery discards a pending delivery whose event is gone.
func discardDelivery(ctx context.Context, q *pg.Q, d models.WebhookDelivery, at time.Time) error {
	_, err := q.Exec(ctx, `update webhook_deliveries set status = 'discarded', settled_at = $2
		where id = $1 and event_id = $4 and environment_id = $3 and status = 'pending'`, d.ID, at, d.EnvironmentID, d.EventID)
	return err
}

// makeDeliveriesDue makes every pending delivery of an endpoint due now, because the endpoint responds again.
func makeDeliveriesDue(ctx context.Context, q *pg.Q, e models.WebhookEndpoint, now time.Time) error {
	_, err := q.Exec(ctx, `update webhook_deliveries set next_attempt_at = $2
		where environment_id = $3 and endpoint_id = $1 and status = 'pending' and next_attempt_at > $2`, e.ID, now, e.EnvironmentID)
	return err
}

// replayFilter selects the deliveries to make again. Empty fields filter nothing.
type replayFilter struct {
	Statuses []models.DeliveryStatus
	Event    string
	Since    *time.Time // of the event, inclusive
	Until    *time.Time // of the event, exclusive
	// SettledSince selects deliveries that were settled since, whenever they were created; inclusive.
	SettledSince *time.Time
}

// requeueDeliveries makes at most limit settled deliveries pending and due again, those settled longest ago first, and returns their number. What
// is sent again is settled later, so that repeated calls reach every delivery. Tests are not sent again: their events are not in the log.
func requeueDeliveries(ctx context.Context, q *pg.Q, to models.WebhookEndpoint, f replayFilter, now time.Time, limit int) (int64, error) {
	return q.Exec(ctx, `update webhook_deliveries set status = 'pending', attempts = 0, next_attempt_at = $6, settled_at = null
		where environment_id = $9 and (id, event_id) in (
			select d.id, d.event_id from webhook_deliveries d left join events e on e.id = d.event_id and e.environment_id = d.environment_id
			where d.environment_id = $9 and d.endpoint_id = $1 and d.status = any($2) and d.type <> $10 and ($3 = '' or d.event_id = $3)
			and ($4::timestamptz is null or coalesce(e.at, d.created_at) >= $4) and ($5::timestamptz is null or coalesce(e.at, d.created_at) < $5)
			and ($8::timestamptz is null or d.settled_at >= $8)
			order by d.settled_at nulls first, d.created_at, d.id limit $7 for update of d)`,
		to.ID, statuses(f.Statuses), f.Event, f.Since, f.Until, now, limit, f.SettledSince, to.EnvironmentID, string(events.WebhookTest))
}

func statuses(in []models.DeliveryStatus) []string {
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = string(s)
	}
	return out
}

// undeliveredEvents returns at most limit events of the types, oldest first, that have no delivery to the endpoint.
// Erased events are left out: their payload is gone. The offset makes the planner look up each event's delivery: it otherwise compares each
// event with each delivery of an endpoint of which it expects few.
func undeliveredEvents(ctx context.Context, q *pg.Q, s pg.Scope, endpoint string, types []string, f replayFilter, limit int) ([]models.Event, error) {
	tx := q.Gorm(ctx).Where("tenant_id = ? and environment_id = ? and type in ? and erased_at is null", s.Tenant, s.Environment, types).
		Where("not exists (select 1 from webhook_deliveries d where d.environment_id = ? and d.endpoint_id = ? and d.event_id = events.id offset 0)", s.Environment, endpoint)
	if f.Event != "" {
		tx = tx.Where("id = ?", f.Event)
	}
	tx = events.Between(tx, f.Since, f.Until)
	var rows []models.Event
	err := tx.Order("at, id").Limit(limit).Find(&rows).Error
	return rows, err
}

// AttemptFilter narrows a list of attempts. Status is pending (no attempt succeeded yet), succeeded or failed.
type AttemptFilter struct {
	Status string
	Event  string
	Since  *time.Time
	Until  *time.Time
}

// AttemptRow is an attempt as it is listed or, if Attempted is false, a pending delivery before its first attempt.
type AttemptRow struct {
	ID             string
	EventID        string
	Type           string
	Attempt        int
	At             time.Time
	Status         string
	Attempted      bool
	StatusCode     *int
	LatencyMS      *int `gorm:"column:latency_ms"`
	ResponseDigest *string
	Error          *string
	NextAttemptAt  *time.Time
}

// listAttempts lists an endpoint's attempts and its deliveries before their first attempt, newest first. NextAttemptAt is set
// on the latest attempt of a pending delivery. Each kind is read up to the length of the page by its own index.
func listAttempts(ctx context.Context, q *pg.Q, e models.WebhookEndpoint, f AttemptFilter, p pg.Page) ([]AttemptRow, string, error) {
	q = q.Old(ctx)
	made, err := f.page(q.Gorm(ctx).Table("webhook_attempts").Where("environment_id = ? and endpoint_id = ?", e.EnvironmentID, e.ID), p, "at")
	if err != nil {
		return nil, "", err
	}
	waiting, err := f.page(q.Gorm(ctx).Table("webhook_deliveries").
		Where("environment_id = ? and endpoint_id = ? and status = 'pending'", e.EnvironmentID, e.ID), p, "created_at")
	if err != nil {
		return nil, "", err
	}
	switch f.Status {
	case "":
		waiting = waiting.Where("attempts = 0")
	case "pending":
		made = made.Where("false")
	default:
		made, waiting = made.Where("succeeded = ?", f.Status == "succeeded"), waiting.Where("false")
	}
	rows := q.Gorm(ctx).Raw(`
		select a.id, a.event_id, a.type, a.attempt, a.at, case when a.succeeded then 'succeeded' else 'failed' end as status,
			true as attempted, a.status_code, a.latency_ms, a.response_digest, a.error,
			case when d.status = 'pending' and d.attempts = a.attempt then d.next_attempt_at end as next_attempt_at
		from (?) a left join webhook_deliveries d on d.id = a.delivery_id and d.event_id = a.event_id and d.environment_id = ?
		union all
		select d.id, d.event_id, d.type, d.attempts, d.created_at, 'pending', false, null, null, null, null, d.next_attempt_at
		from (?) d order by at desc, id desc limit ?`, made, e.EnvironmentID, waiting, p.Limit+1)
	var out []AttemptRow
	if err := rows.Find(&out).Error; err != nil {
		return nil, "", err
	}
	out, next := pg.CutPage(out, p, func(a AttemptRow) (time.Time, string) { return a.At, a.ID })
	return out, next, nil
}

// page narrows a list of attempts or deliveries to its newest rows. column is their time.
func (f AttemptFilter) page(rows *gorm.DB, p pg.Page, column string) (*gorm.DB, error) {
	if f.Event != "" {
		rows = rows.Where("event_id = ?", f.Event)
	}
	if f.Since != nil {
		rows = rows.Where(column+" >= ?", *f.Since)
	}
	if f.Until != nil {
		rows = rows.Where(column+" < ?", *f.Until)
	}
	return pg.Paginate(rows, p, column, "id")
}

// enabledEndpoints returns the endpoints that events of an environment are due to, as they are stored: their senders verify them.
func enabledEndpoints(ctx context.Context, q *pg.Q, environment string) ([]models.WebhookEndpoint, error) {
	var rows []models.WebhookEndpoint
	err := q.AsStored().Gorm(ctx).Where("environment_id = ? and status = 'enabled' and deleted_at is null", environment).Find(&rows).Error
	return rows, err
}

// loggedSince returns the number in the log of an endpoint's creation; nil if it is past its retention.
func loggedSince(ctx context.Context, q *pg.Q, p models.WebhookEndpoint) (*int64, error) {
	var seq *int64
	err := q.QueryRow(ctx, "select min(seq) from events where environment_id = $1 and type = $2 and at = $3",
		p.EnvironmentID, events.WebhookEndpointCreated, p.CreatedAt).Scan(&seq)
	return seq, err
}

// longestQuiet is longer than the sender of an endpoint is left alone: what is later was set by a clock that was ahead.
const longestQuiet = maxRetryAfter + maxBackoff

// claimWake claims the endpoints whose senders are not awake, until a time, and returns their ids. The caller wakes
// those. Most senders are awake: an update that finds nothing to do locks the table on every server that has it.
func claimWake(ctx context.Context, q *pg.Q, endpoints []string, now, until time.Time) ([]string, error) {
	const idle = "id in ? and (quiet_until is null or quiet_until not between ? and ?)"
	longest := now.Add(longestQuiet)
	var ids []string
	err := q.Gorm(ctx).Raw("select id from webhook_endpoints where "+idle, endpoints, now, longest).Find(&ids).Error
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	var claimed []string
	err = q.Gorm(ctx).Raw("update webhook_endpoints set quiet_until = ? where "+idle+" returning id", until, ids, now, longest).Find(&claimed).Error
	return claimed, err
}

// setQuietUntil records until when the sender of an endpoint looks for deliveries by itself and need not be woken; nil
// ends that. It reports whether the endpoint exists and is enabled.
func setQuietUntil(ctx context.Context, q *pg.Q, endpoint string, until *time.Time) (bool, error) {
	n, err := q.Exec(ctx, "update webhook_endpoints set quiet_until = $2 where id = $1 and status = 'enabled' and deleted_at is null", endpoint, until)
	return n > 0, err
}

// overdueEndpoints returns the enabled endpoints that have a delivery due before t and whose sender is not awake.
func overdueEndpoints(ctx context.Context, q *pg.Q, t time.Time) ([]models.WebhookEndpoint, error) {
	var rows []models.WebhookEndpoint
	err := pg.Unchecked(q.Gorm(ctx)).Raw(`select e.* from webhook_endpoints e where e.status = 'enabled' and e.deleted_at is null
		and (e.quiet_until is null or e.quiet_until not between @t and @longest)
		and (e.environment_id, e.id) in (select d.environment_id, d.endpoint_id from webhook_deliveries d
			where d.status = 'pending' and d.next_attempt_at < @t group by 1, 2)`, map[string]any{"t": t, "longest": t.Add(longestQuiet)}).Find(&rows).Error
	return rows, err
}

// recordSuccess records that an endpoint responds and is no longer failing.
func recordSuccess(ctx context.Context, q *pg.Q, endpoint string) error {
	_, err := q.Exec(ctx, "update webhook_endpoints set failing_since = null where id = $1 and failing_since is not null", endpoint)
	return err
}

// recordFailure records a failure and returns the time since when the endpoint has been failing without a success.
func recordFailure(ctx context.Context, q *pg.Q, endpoint string, at time.Time) (time.Time, error) {
	var since time.Time
	err := q.QueryRow(ctx, "update webhook_endpoints set failing_since = least(failing_since, $2) where id = $1 returning failing_since",
		endpoint, at).Scan(&since)
	return pg.OrNotFound(since, err)
}

// createEndpoint inserts a webhook endpoint with its first secret. It returns false and inserts nothing if the environment has
// limit endpoints already.
func createEndpoint(ctx context.Context, q *pg.Q, e models.WebhookEndpoint, secret models.WebhookSecret, limit int) (bool, error) {
	// Locks the environment, so that one of two concurrent calls at the limit is refused.
	if _, err := q.Exec(ctx, "select 1 from environments where id = $1 for no key update", e.EnvironmentID); err != nil {
		return false, err
	}
	var have int64
	if err := q.Gorm(ctx).Model(&models.WebhookEndpoint{}).
		Where("environment_id = ? and deleted_at is null", e.EnvironmentID).Count(&have).Error; err != nil {
		return false, err
	}
	if have >= int64(limit) {
		return false, nil
	}
	if err := q.Gorm(ctx).Create(&e).Error; err != nil {
		return false, err
	}
	return true, q.Gorm(ctx).Create(&secret).Error
}

// getEndpoint returns a webhook endpoint that is not deleted.
func getEndpoint(ctx context.Context, q *pg.Q, s pg.Scope, id string) (models.WebhookEndpoint, error) {
	var e models.WebhookEndpoint
	err := q.Gorm(ctx).Where("tenant_id = ? and environment_id = ? and id = ? and deleted_at is null", s.Tenant, s.Environment, id).
		Take(&e).Error
	return pg.OrNotFound(e, err)
}

// endpointByID returns an endpoint by its id alone, for its sender, which knows no scope.
func endpointByID(ctx context.Context, q *pg.Q, id string) (models.WebhookEndpoint, error) {
	var e models.WebhookEndpoint
	return pg.OrNotFound(e, q.Gorm(ctx).Where("id = ? and deleted_at is null", id).Take(&e).Error)
}

// lockEndpoint returns an endpoint and locks its row until the transaction ends.
func lockEndpoint(ctx context.Context, q *pg.Q, s pg.Scope, id string) (models.WebhookEndpoint, error) {
	var e models.WebhookEndpoint
	err := q.Gorm(ctx).Clauses(clause.Locking{Strength: "NO KEY UPDATE"}).
		Where("tenant_id = ? and environment_id = ? and id = ? and deleted_at is null", s.Tenant, s.Environment, id).Take(&e).Error
	return pg.OrNotFound(e, err)
}

// listEndpoints lists the webhook endpoints that are not deleted.
func listEndpoints(ctx context.Context, q *pg.Q, s pg.Scope, p pg.Page) ([]models.WebhookEndpoint, string, error) {
	tx, err := pg.Paginate(q.Gorm(ctx).Where("tenant_id = ? and environment_id = ? and deleted_at is null", s.Tenant, s.Environment),
		p, "created_at", "id")
	if err != nil {
		return nil, "", err
	}
	var rows []models.WebhookEndpoint
	if err := tx.Find(&rows).Error; err != nil {
		return nil, "", err
	}
	rows, next := pg.CutPage(rows, p, func(e models.WebhookEndpoint) (time.Time, string) { return e.CreatedAt, e.ID })
	return rows, next, nil
}

// changeEndpoint updates an endpoint that meets a condition, with its MAC, at its UpdatedAt, and reports whether it did. Each change has a time of its
// own (Ends).
func changeEndpoint(ctx context.Context, q *pg.Q, e models.WebhookEndpoint, condition, set string, args ...any) (bool, error) {
	args = append([]any{map[string]any{"id": e.ID, "at": e.UpdatedAt}}, args...)
	rows, err := pg.Change[models.WebhookEndpoint](ctx, q, "id = @id and deleted_at is null and "+condition,
		set+", updated_at = "+pg.After("@at", "updated_at"), args...)
	return len(rows) == 1, err
}

// updateEndpoint stores the URL, event types, description and choice of details of an endpoint.
func updateEndpoint(ctx context.Context, q *pg.Q, e models.WebhookEndpoint) error {
	_, err := changeEndpoint(ctx, q, e, "true", "url = @url, events = @events, description = @description, include_details = @details",
		map[string]any{"url": e.URL, "events": e.Events, "description": e.Description, "details": e.IncludeDetails})
	return err
}

// deleteEndpoint marks an endpoint as deleted, deletes its secrets and discards its pending deliveries. It returns false if there
// is none.
func deleteEndpoint(ctx context.Context, q *pg.Q, s pg.Scope, id string, at time.Time) (bool, error) {
	deleted, err := changeEndpoint(ctx, q.AsStored(), models.WebhookEndpoint{ID: id, UpdatedAt: at}, "tenant_id = @tenant and environment_id = @environment", "deleted_at = @at",
		map[string]any{"tenant": s.Tenant, "environment": s.Environment})
	if err != nil || !deleted {
		return false, err
	}
	if _, err := q.Exec(ctx, "delete from webhook_secrets where endpoint_id = $1", id); err != nil {
		return false, err
	}
	return true, discardPending(ctx, q, s.Environment, id, at)
}

// disableEndpoint disables an enabled endpoint and discards its pending deliveries. It returns false if it was not enabled.
func disableEndpoint(ctx context.Context, q *pg.Q, e models.WebhookEndpoint, reason string, at time.Time) (bool, error) {
	e.UpdatedAt = at
	disabled, err := changeEndpoint(ctx, q.AsStored(), e, "status = 'enabled'",
		"status = 'disabled', disabled_reason = @reason, disabled_at = @at, quiet_until = null", map[string]any{"reason": reason})
	if err != nil || !disabled {
		return false, err
	}
	return true, discardPending(ctx, q, e.EnvironmentID, e.ID, at)
}

// enableEndpoint enables an endpoint if it is disabled, and resets its failures.
func enableEndpoint(ctx context.Context, q *pg.Q, id string, at time.Time) error {
	_, err := changeEndpoint(ctx, q, models.WebhookEndpoint{ID: id, UpdatedAt: at}, "status = 'disabled'",
		"status = 'enabled', disabled_reason = null, disabled_at = null, failing_since = null, quiet_until = null")
	return err
}

func discardPending(ctx context.Context, q *pg.Q, environment, endpoint string, at time.Time) error {
	_, err := q.Exec(ctx, `update webhook_deliveries set status = 'discarded', settled_at = $2
		where environment_id = $3 and endpoint_id = $1 and status = 'pending'`, endpoint, at, environment)
	return err
}

// secretsOfEndpoint returns the secrets of an endpoint that have not expired, newest first. Each signs every delivery.
func secretsOfEndpoint(ctx context.Context, q *pg.Q, endpoint string, now time.Time) ([]models.WebhookSecret, error) {
	var rows []models.WebhookSecret
	err := q.Gorm(ctx).Where("endpoint_id = ? and (expires_at is null or expires_at > ?)", endpoint, now).
		Order("created_at desc, id desc").Find(&rows).Error
	return rows, err
}

// rotateSecret adds a secret and lets the other secrets expire at overlapEnds. It returns false and changes nothing while
// an earlier rotation still overlaps. The caller must have locked the endpoint.
func rotateSecret(ctx context.Context, q *pg.Q, n models.WebhookSecret, overlapEnds time.Time) (bool, error) {
	if _, err := q.Exec(ctx, "delete from webhook_secrets where endpoint_id = $1 and expires_at <= $2", n.EndpointID, n.CreatedAt); err != nil {
		return false, err
	}
	var ending int64
	if err := q.Gorm(ctx).Model(&models.WebhookSecret{}).Where("endpoint_id = ? and expires_at is not null", n.EndpointID).
		Count(&ending).Error; err != nil || ending > 0 {
		return false, err
	}
	if _, err := q.Exec(ctx, "update webhook_secrets set expires_at = $2 where endpoint_id = $1", n.EndpointID, overlapEnds); err != nil {
		return false, err
	}
	return true, q.Gorm(ctx).Create(&n).Error
}
