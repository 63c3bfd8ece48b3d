package store

import (
	"context"
	"math"
	"strconv"
	"time"

	"gorm.io/gorm"

	"github.com/countersign-dev/countersign/models"
)

// Events stores the events of the log and reads them in their order.
type Events struct{ *Q }

// Events returns the queries of the aggregate.
func (q *Q) Events() Events { return Events{q} }

// WithCauses returns an event, by environment and id, and at most limit events that precede it in its transaction, in
// order. It returns none if the event is gone. The first event of the transaction is always among them.
func (q Events) WithCauses(ctx context.Context, environment, id string, limit int) ([]models.Event, error) {
	var rows []models.Event
	err := q.gorm(ctx).Raw(`with target as (select txid, seq from events where environment_id = @environment and id = @id),
		before as (select e.* from events e, target where e.environment_id = @environment and e.txid = target.txid and e.seq < target.seq)
		select * from (
			(select * from before order by seq limit 1)
			union (select * from before order by seq desc limit @limit)
			union select * from events where environment_id = @environment and id = @id) found
		order by seq`, map[string]any{"environment": environment, "id": id, "limit": limit}).Scan(&rows).Error
	return rows, err
}

// eventColumns are the columns that a writer sets, in the order of insertEvent's arguments. The others have defaults.
const eventColumns = `id, tenant_id, environment_id, type, at, subject_uid, subject, action, authorization_id,
	decision, actor, request_id, workflow_id, data, salt, digest`

const insertEvent = `insert into events (` + eventColumns + `)
	values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`

// announceEvent inserts the outbox row of an event if the environment has an enabled webhook endpoint.
const announceEvent = `insert into outbox (topic, environment_id, ref, payload, created_at, available_at)
	select 'event', $1, $2, '{}', $3, $3 where exists
	(select 1 from webhook_endpoints where environment_id = $1 and status = 'enabled' and deleted_at is null)`

// Append inserts one event and, if announce is set and the environment has an enabled webhook endpoint, the outbox row
// that delivers it. It sends no notification: a transaction with a NOTIFY commits under a lock of the whole server. Write
// wakes the relays after the commit, and event streams read the log every tenth of a second.
func (q Events) Append(ctx context.Context, e models.Event, announce bool) error {
	if _, err := q.exec(ctx, insertEvent, e.ID, e.TenantID, e.EnvironmentID, e.Type, e.At, e.SubjectUID, e.Subject, e.Action,
		e.AuthorizationID, e.Decision, e.Actor, e.RequestID, e.WorkflowID, e.Data, e.Salt, e.Digest); err != nil {
		return err
	}
	if !announce {
		return nil
	}
	n, err := q.exec(ctx, announceEvent, e.EnvironmentID, e.ID, e.At)
	if err != nil {
		return err
	}
	if n > 0 {
		q.markOutbox()
	}
	return nil
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

// Activity lists events of an environment, newest first.
func (q Events) Activity(ctx context.Context, s Scope, f ActivityFilter, p Page) ([]models.Event, string, error) {
	q.Q = q.old(ctx)
	tx := q.gorm(ctx).Table("events").Where("tenant_id = ? and environment_id = ?", s.Tenant, s.Environment)
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
	tx = between(tx, f.Since, f.Until)
	tx, err := paginate(tx, p, "at", "id")
	if err != nil {
		return nil, "", err
	}
	if len(f.Types) <= fewTypes {
		tx = q.gorm(ctx).Raw(`select e.* from unnest(?::text[]) as t (wanted) cross join lateral (?) e order by e.at desc, e.id desc limit ?`,
			models.Strings(f.Types), tx.Where("type = t.wanted"), p.Limit+1)
	} else {
		tx = tx.Where("type in ?", f.Types)
	}
	var rows []models.Event
	if err := tx.Scan(&rows).Error; err != nil {
		return nil, "", err
	}
	rows, next := cutPage(rows, p, func(e models.Event) (time.Time, string) { return e.At, e.ID })
	return rows, next, nil
}

// between adds the condition that the column at is from since (inclusive) to until (exclusive). nil is unbounded.
func between(tx *gorm.DB, since, until *time.Time) *gorm.DB {
	if since != nil {
		tx = tx.Where("at >= ?", *since)
	}
	if until != nil {
		tx = tx.Where("at < ?", *until)
	}
	return tx
}

// Get returns one event.
func (q Events) Get(ctx context.Context, s Scope, id string) (models.Event, error) {
	var e models.Event
	err := q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and id = ?", s.Tenant, s.Environment, id).Take(&e).Error
	return orNotFound(e, err)
}

// OfAuthorization returns the events about the authorizations, in order.
func (q Events) OfAuthorization(ctx context.Context, s Scope, ids []string) ([]models.Event, error) {
	var rows []models.Event
	err := q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and authorization_id in ?", s.Tenant, s.Environment, ids).
		Order("txid, seq").Find(&rows).Error
	return rows, err
}

// Position is a position in the log. Events are ordered by transaction and number, and only those of transactions older
// than every running one are read, so that no reader skips an event that is committed late.
type Position struct {
	TxID uint64
	Seq  int64
}

// PositionOf returns the position of an event.
func PositionOf(e models.Event) Position { return Position{e.TxID, e.Seq} }

// Before reports whether p comes before o.
func (p Position) Before(o Position) bool {
	return p.TxID < o.TxID || p.TxID == o.TxID && p.Seq < o.Seq
}

func (p Position) txid() string { return strconv.FormatUint(p.TxID, 10) }

// Horizon returns the position behind every event that can be read now.
func (q Events) Horizon(ctx context.Context) (Position, error) {
	var text string
	if err := q.queryRow(ctx, "select "+horizon+"::text").Scan(&text); err != nil {
		return Position{}, err
	}
	xmin, err := strconv.ParseUint(text, 10, 64)
	return Position{TxID: xmin - 1, Seq: math.MaxInt64}, err
}

// After returns at most limit events of the environments behind a position, in order.
func (q Events) After(ctx context.Context, environments []string, after Position, limit int) ([]models.Event, error) {
	var rows []models.Event
	err := q.gorm(ctx).Where("environment_id in ? and (txid, seq) > (?::xid8, ?) and txid < "+horizon,
		environments, after.txid(), after.Seq).Order("txid, seq").Limit(limit).Find(&rows).Error
	return rows, err
}
