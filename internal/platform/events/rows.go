package events

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"gorm.io/gorm"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// WithCauses returns events, by environment and ids, each behind at most limit events that precede it in its transaction, in
// order; the first event of the transaction is always among them. Deleted events are omitted; the result may contain duplicates.
func WithCauses(ctx context.Context, q *pg.Q, environment string, ids []string, limit int) ([]models.Event, error) {
	var found, out []models.Event
	if err := q.Gorm(ctx).Where("environment_id = ? and id in ?", environment, ids).Order("seq").Find(&found).Error; err != nil {
		return nil, err
	}
	for _, e := range found {
		before, err := eventsBefore(ctx, q, e, limit)
		if err != nil {
			return nil, err
		}
		out = append(append(out, before...), e)
	}
	return out, nil
}

// eventsBefore returns at most limit events that precede one in its transaction, in order, and the first of the transaction.
func eventsBefore(ctx context.Context, q *pg.Q, target models.Event, limit int) ([]models.Event, error) {
	if target.Cause == nil {
		return nil, nil
	}
	var rows []models.Event
	err := q.Gorm(ctx).Raw(`with before as (select * from events where environment_id = @environment and seq < @seq and (id = @cause or cause = @cause))
		select * from ((select * from before order by seq limit 1) union (select * from before order by seq desc limit @limit)) found order by seq`,
		map[string]any{"environment": target.EnvironmentID, "seq": target.Seq, "cause": target.Cause, "limit": limit}).Find(&rows).Error
	return rows, err
}

// InsertEvent inserts one event and, if announce is set, the outbox row that delivers it to webhook endpoints. The relay drops the row if the
// environment has none. It sends no notification: a transaction with a NOTIFY commits under a lock of the whole server. Write wakes the
// relays after the commit, and event streams read the log every tenth of a second.
func InsertEvent(ctx context.Context, q *pg.Q, e models.Event, announce bool) error {
	b := &pgx.Batch{}
	QueueEvent(b, e, q.Causes())
	if announce {
		QueueOutbox(b, Announcement(e))
		q.MarkOutbox()
	}
	return q.Transaction(ctx, b)
}

// QueueEvent adds the insertion of an event to a batch. causes are those of the transaction.
func QueueEvent(b *pgx.Batch, e models.Event, causes pg.Causes) {
	b.Queue(`insert into events (id, tenant_id, environment_id, type, at, subject_uid, subject, action, authorization_id, decision, actor,
		request_id, workflow_id, data, salt, digest, cause)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`,
		e.ID, e.TenantID, e.EnvironmentID, e.Type, e.At, e.SubjectUID, e.Subject, e.Action, e.AuthorizationID, e.Decision, e.Actor,
		e.RequestID, e.WorkflowID, e.Data, e.Salt, e.Digest, causes.Of(e))
}

// Announcement is the work of delivering an event.
func Announcement(e models.Event) models.Outbox {
	return models.Outbox{Topic: "event", EnvironmentID: e.EnvironmentID, Ref: e.ID, Payload: models.JSON("{}"), CreatedAt: e.At, AvailableAt: e.At}
}

// ActivityFilter narrows a list of events. Types is required: the types that the caller may see. Other empty fields
// filter nothing.
type ActivityFilter struct {
	Types    []string
	Subject  string // the relying party's id
	Action   string
	Decision string
	Since    *time.Time // inclusive
	Until    *time.Time // exclusive
}

// fewTypes is the number of types up to which Activity looks up each type by itself. One scan of the whole environment
// would take long if the types are rare.
const fewTypes = 12

// QueryActivity lists events of an environment, newest first.
func QueryActivity(ctx context.Context, q *pg.Q, s pg.Scope, f ActivityFilter, p pg.Page) ([]models.Event, string, error) {
	q = q.Old(ctx)
	tx := q.Gorm(ctx).Table("events").Where("tenant_id = ? and environment_id = ?", s.Tenant, s.Environment)
	if f.Subject != "" {
		// Selects by uid, which is indexed and set in every event that names a subject.
		tx = tx.Where("subject_uid in (select uid from subjects where environment_id = ? and external_id = ?) and subject = ?",
			s.Environment, f.Subject, f.Subject)
	}
	if f.Action != "" {
		tx = tx.Where("action = ?", f.Action)
	}
	if f.Decision != "" {
		tx = tx.Where("decision = ?", f.Decision)
	}
	tx = Between(tx, f.Since, f.Until)
	tx, err := pg.Paginate(tx, p, "at", "id")
	if err != nil {
		return nil, "", err
	}
	if len(f.Types) <= fewTypes {
		tx = q.Gorm(ctx).Raw(`select e.* from unnest(?::text[]) as t (wanted) cross join lateral (?) e order by e.at desc, e.id desc limit ?`,
			models.Strings(f.Types), tx.Where("type = t.wanted"), p.Limit+1)
	} else {
		tx = tx.Where("type in ?", f.Types)
	}
	var rows []models.Event
	if err := tx.Find(&rows).Error; err != nil {
		return nil, "", err
	}
	rows, next := pg.CutPage(rows, p, func(e models.Event) (time.Time, string) { return e.At, e.ID })
	return rows, next, nil
}

// Between adds the condition that the column at is from since (inclusive) to until (exclusive). nil is unbounded.
func Between(tx *gorm.DB, since, until *time.Time) *gorm.DB {
	if since != nil {
		tx = tx.Where("at >= ?", *since)
	}
	if until != nil {
		tx = tx.Where("at < ?", *until)
	}
	return tx
}

// GetEvent returns one event.
func GetEvent(ctx context.Context, q *pg.Q, s pg.Scope, id string) (models.Event, error) {
	var e models.Event
	err := q.Gorm(ctx).Where("tenant_id = ? and environment_id = ? and id = ?", s.Tenant, s.Environment, id).Take(&e).Error
	return pg.OrNotFound(e, err)
}

// OfAuthorization returns the events about the authorizations, in order.
func OfAuthorization(ctx context.Context, q *pg.Q, s pg.Scope, ids []string) ([]models.Event, error) {
	var rows []models.Event
	err := q.Gorm(ctx).Where("tenant_id = ? and environment_id = ? and authorization_id in ?", s.Tenant, s.Environment, ids).
		Order("seq").Find(&rows).Error
	return rows, err
}

// QueueOutbox adds the insertion of work for the relay to a batch. The caller marks the outbox of its transaction (pg.Q.MarkOutbox).
func QueueOutbox(b *pgx.Batch, o models.Outbox) {
	b.Queue(`insert into outbox (topic, environment_id, ref, payload, created_at, available_at)
		values ($1, $2, $3, $4, $5, $6)`, o.Topic, o.EnvironmentID, o.Ref, o.Payload, o.CreatedAt, o.AvailableAt)
}

// lastOf returns the last event of the transaction, or one of the service now.
func lastOf(ctx context.Context, q *pg.Q) (models.Event, error) {
	var last models.Event
	for environment, first := range q.Causes() {
		var e models.Event
		err := q.Gorm(ctx).Where("environment_id = ? and (id = ? or cause = ?)", environment, first, first).Order("at desc, id desc").Take(&e).Error
		if err != nil {
			return e, err
		}
		if e.At.After(last.At) {
			last = e
		}
	}
	if last.ID == "" {
		last.Actor = "service"
		return last, q.QueryRow(ctx, "select clock_timestamp()").Scan(&last.At)
	}
	return last, nil
}
