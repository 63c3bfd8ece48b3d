package store

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/models"
)

// Listening reads the enabled endpoints of an environment.
func (q Endpoints) Listening(ctx context.Context, environment string) ([]models.WebhookEndpoint, error) {
	var rows []models.WebhookEndpoint
	err := q.gorm(ctx).Where("environment_id = ? and status = 'enabled' and deleted_at is null", environment).Find(&rows).Error
	return rows, err
}

// WithCauses finds an event for the fan-out, which knows the environment and no tenant, behind at most limit events that
// precede it in its transaction, in order. Empty if the event is gone. The first entry of a transaction is always among them.
func (q Events) WithCauses(ctx context.Context, environment, id string, limit int) ([]models.Event, error) {
	var rows []models.Event
	err := q.gorm(ctx).Raw(`with told as (select txid, seq from events where environment_id = @environment and id = @id),
		before as (select e.* from events e, told where e.environment_id = @environment and e.txid = told.txid and e.seq < told.seq)
		select * from (
			(select * from before order by seq limit 1)
			union (select * from before order by seq desc limit @limit)
			union select * from events where environment_id = @environment and id = @id) found
		order by seq`, map[string]any{"environment": environment, "id": id, "limit": limit}).Scan(&rows).Error
	return rows, err
}

// Insert owes each event to its endpoint; what is owed or was delivered already is left as it is.
func (q Deliveries) Insert(ctx context.Context, rows []models.WebhookDelivery) error {
	ids, endpoints := make([]string, len(rows)), make([]string, len(rows))
	eventIDs, types := make([]string, len(rows)), make([]string, len(rows))
	due := make([]time.Time, len(rows))
	var at time.Time
	for i, d := range rows {
		ids[i], endpoints[i], eventIDs[i], types[i], due[i], at = d.ID, d.EndpointID, d.EventID, d.Type, d.NextAttemptAt, d.CreatedAt
	}
	_, err := q.exec(ctx, `insert into webhook_deliveries (id, endpoint_id, event_id, type, status, next_attempt_at, created_at)
		select i, p, e, t, 'pending', n, $5 from unnest($1::text[], $2::text[], $3::text[], $4::text[], $6::timestamptz[]) as d (i, p, e, t, n)
		on conflict (endpoint_id, event_id, replay) do nothing`, ids, endpoints, eventIDs, types, at, due)
	return err
}

// ClaimWake answers which of the endpoints nobody is about to look at, and says for them that somebody is, until a time.
func (q Endpoints) ClaimWake(ctx context.Context, endpoints []string, now, until time.Time) ([]string, error) {
	var ids []string
	err := q.gorm(ctx).Raw(`update webhook_endpoints set quiet_until = ? where id in ? and (quiet_until is null or quiet_until < ?)
		returning id`, until, endpoints, now).Scan(&ids).Error
	return ids, err
}

// Quiet says until when an endpoint need not be woken, because its sender looks by itself; nil ends that. It reports
// whether the endpoint is there and enabled.
func (q Endpoints) Quiet(ctx context.Context, endpoint string, until *time.Time) (bool, error) {
	n, err := q.exec(ctx, "update webhook_endpoints set quiet_until = $2 where id = $1 and status = 'enabled' and deleted_at is null", endpoint, until)
	return n > 0, err
}

// Overdue finds enabled endpoints with a delivery due before t that nobody has looked at since.
func (q Endpoints) Overdue(ctx context.Context, t time.Time) ([]models.WebhookEndpoint, error) {
	var rows []models.WebhookEndpoint
	err := q.gorm(ctx).Raw(`select e.* from webhook_endpoints e where e.status = 'enabled' and e.deleted_at is null
		and (e.quiet_until is null or e.quiet_until < ?)
		and exists (select 1 from webhook_deliveries d where d.endpoint_id = e.id and d.status = 'pending' and d.next_attempt_at < ?)`,
		t, t).Scan(&rows).Error
	return rows, err
}

// DueDelivery is a delivery with the event it carries; the event is nil where it is gone from the log.
type DueDelivery struct {
	models.WebhookDelivery
	Event *models.Event `gorm:"-"`
}

// Due reads what is due to an endpoint, leaving out the deliveries under way, the oldest first. With probe set the
// one tried least comes first, and what is not due yet may be taken too: a broken endpoint is asked whether it is back
// however long its deliveries have been put off.
func (q Deliveries) Due(ctx context.Context, endpoint string, now time.Time, underWay []string, limit int, probe bool) ([]DueDelivery, error) {
	owed := func(condition string, args ...any) (rows []DueDelivery, err error) {
		tx := q.gorm(ctx).Model(&models.WebhookDelivery{}).Where("endpoint_id = ? and status = 'pending'", endpoint).Where(condition, args...)
		if len(underWay) > 0 {
			tx = tx.Where("id not in ?", underWay)
		}
		if probe {
			tx = tx.Order("attempts")
		}
		// Events that are due as of the same time are those of one transaction, whose ids rise from cause to consequence.
		err = tx.Order("next_attempt_at, event_id").Limit(limit).Find(&rows).Error
		return rows, err
	}
	rows, err := owed("next_attempt_at <= ?", now)
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
	if err := q.gorm(ctx).Where("id in ?", ids).Find(&found).Error; err != nil {
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

// Next is when the endpoint's next delivery is due; nil where none is owed.
func (q Deliveries) Next(ctx context.Context, endpoint string) (*time.Time, error) {
	var at *time.Time
	err := q.queryRow(ctx, "select min(next_attempt_at) from webhook_deliveries where endpoint_id = $1 and status = 'pending'", endpoint).Scan(&at)
	return at, err
}

// RecordAttempt logs a try and moves its delivery on. A delivery that somebody else has moved meanwhile stays as it is.
// Next is when to try again, for a delivery that stays pending.
func (q Deliveries) RecordAttempt(ctx context.Context, a models.WebhookAttempt, status models.DeliveryStatus, next *time.Time) error {
	if err := q.gorm(ctx).Create(&a).Error; err != nil {
		return err
	}
	var settled *time.Time
	if status != models.DeliveryPending {
		settled = &a.At
	}
	_, err := q.exec(ctx, `update webhook_deliveries set status = $3, attempts = $4, next_attempt_at = coalesce($5, next_attempt_at), settled_at = $6
		where id = $1 and status = 'pending' and attempts = $2`, a.DeliveryID, a.Attempt-1, status, a.Attempt, next, settled)
	return err
}

// Discard settles a delivery whose event can no longer be told.
func (q Deliveries) Discard(ctx context.Context, id string, at time.Time) error {
	_, err := q.exec(ctx, "update webhook_deliveries set status = 'discarded', settled_at = $2 where id = $1 and status = 'pending'", id, at)
	return err
}

// RecordSuccess ends an endpoint's time of failing.
func (q Endpoints) RecordSuccess(ctx context.Context, endpoint string) error {
	_, err := q.exec(ctx, "update webhook_endpoints set failing_since = null where id = $1 and failing_since is not null", endpoint)
	return err
}

// RecordFailure answers since when an endpoint fails; from at on, where it did not fail before.
func (q Endpoints) RecordFailure(ctx context.Context, endpoint string, at time.Time) (time.Time, error) {
	var since time.Time
	err := q.queryRow(ctx, "update webhook_endpoints set failing_since = least(failing_since, $2) where id = $1 returning failing_since",
		endpoint, at).Scan(&since)
	return one(since, err)
}

// Hasten makes everything owed to an endpoint due now: it answers again.
func (q Deliveries) Hasten(ctx context.Context, endpoint string, now time.Time) error {
	_, err := q.exec(ctx, "update webhook_deliveries set next_attempt_at = $2 where endpoint_id = $1 and status = 'pending' and next_attempt_at > $2",
		endpoint, now)
	return err
}

// ReplayFilter says which deliveries to make again. Empty fields filter nothing.
type ReplayFilter struct {
	Statuses []models.DeliveryStatus
	Event    string
	Since    *time.Time // of the event, inclusive
	Until    *time.Time // of the event, exclusive
	// SettledSince asks for what came to its end since, whenever it was first owed; inclusive.
	SettledSince *time.Time
}

// Requeue makes settled deliveries due again, the oldest first, at most limit of them.
func (q Deliveries) Requeue(ctx context.Context, endpoint string, f ReplayFilter, now time.Time, limit int) (int64, error) {
	return q.exec(ctx, `update webhook_deliveries set status = 'pending', attempts = 0, next_attempt_at = $6, settled_at = null where id in (
		select d.id from webhook_deliveries d left join events e on e.id = d.event_id
			where d.endpoint_id = $1 and d.status = any($2) and ($3 = '' or d.event_id = $3)
			and ($4::timestamptz is null or coalesce(e.at, d.created_at) >= $4) and ($5::timestamptz is null or coalesce(e.at, d.created_at) < $5)
			and ($8::timestamptz is null or d.settled_at >= $8)
			order by d.created_at, d.id limit $7 for update of d)`,
		endpoint, statuses(f.Statuses), f.Event, f.Since, f.Until, now, limit, f.SettledSince)
}

func statuses(in []models.DeliveryStatus) []string {
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = string(s)
	}
	return out
}

// UndeliveredEvents reads events of the given types that an endpoint was never owed, the oldest first. Erased ones are
// left out: there is nothing left to tell.
func (q Deliveries) UndeliveredEvents(ctx context.Context, s Scope, endpoint string, types []string, f ReplayFilter, limit int) ([]models.Event, error) {
	tx := q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and type in ? and erased_at is null", s.Tenant, s.Environment, types).
		Where("not exists (select 1 from webhook_deliveries d where d.endpoint_id = ? and d.event_id = events.id)", endpoint)
	if f.Event != "" {
		tx = tx.Where("id = ?", f.Event)
	}
	tx = between(tx, f.Since, f.Until)
	var rows []models.Event
	err := tx.Order("at, id").Limit(limit).Find(&rows).Error
	return rows, err
}

// DropAttempts forgets attempts made before t, at most limit of them.
func (q Deliveries) DropAttempts(ctx context.Context, t time.Time, limit int) (int64, error) {
	return q.exec(ctx, "delete from webhook_attempts where id in (select id from webhook_attempts where at < $1 limit $2)", t, limit)
}

// Drop forgets settled deliveries made before t, and their attempts, at most limit of them.
func (q Deliveries) Drop(ctx context.Context, t time.Time, limit int) (int64, error) {
	return q.exec(ctx, `delete from webhook_deliveries where id in
		(select id from webhook_deliveries where created_at < $1 and status <> 'pending' limit $2)`, t, limit)
}
