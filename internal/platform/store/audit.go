package store

import (
	"context"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/models"
)

// Audit stores the audit chain, re-anchors the log and reads what an audit compares.
type Audit struct{ *Q }

// Audit returns the queries of the aggregate.
func (q *Q) Audit() Audit { return Audit{q} }

// AuditHead is how far an environment is sealed: the position of the last sealed event and the last link of the chain.
type AuditHead struct {
	EnvironmentID string
	TxID          uint64 `gorm:"column:txid"`
	EventSeq      int64
	Seq           int64
	Hash          []byte
}

// Position returns the position of the last sealed event in the log.
func (h AuditHead) Position() Position { return Position{h.TxID, h.EventSeq} }

// AuditLink is one link of an audit chain. Event is nil if the event is gone.
type AuditLink struct {
	Seq      int64
	EventID  string
	Previous []byte
	Hash     []byte
	SealedAt time.Time
	Event    *models.Event `gorm:"-"`
}

// UnsealedEnvironments returns the ids of the environments that have events to seal.
func (q Audit) UnsealedEnvironments(ctx context.Context) ([]string, error) {
	var ids []string
	err := q.gorm(ctx).Raw(`select e.id from environments e left join audit_heads h on h.environment_id = e.id
		where exists (select 1 from events v where v.environment_id = e.id
			and (v.txid, v.seq) > (coalesce(h.txid, '0'::xid8), coalesce(h.event_seq, 0))
			and v.txid < ` + horizon + `)`).Scan(&ids).Error
	return ids, err
}

// LockHead locks the head of an environment until the transaction ends, and inserts it if there is none. It returns
// false, without waiting, if another sealer has the lock.
func (q Audit) LockHead(ctx context.Context, environment string, genesis []byte) (AuditHead, bool, error) {
	if _, err := q.exec(ctx, `insert into audit_heads (environment_id, txid, event_seq, seq, hash) values ($1, '0', 0, 0, $2)
		on conflict do nothing`, environment, genesis); err != nil {
		return AuditHead{}, false, err
	}
	var h AuditHead
	err := q.gorm(ctx).Raw("select * from audit_heads where environment_id = ? for update skip locked", environment).Take(&h).Error
	h, err = orNotFound(h, err)
	if errors.Is(err, ErrNotFound) {
		return h, false, nil
	}
	return h, err == nil, err
}

// AppendLinks appends links to the chain and moves the head to h. The caller must have locked the head.
func (q Audit) AppendLinks(ctx context.Context, h AuditHead, links []AuditLink) error {
	seqs, ids := make([]int64, len(links)), make([]string, len(links))
	previous, hashes := make([][]byte, len(links)), make([][]byte, len(links))
	var sealedAt time.Time
	for i, l := range links {
		seqs[i], ids[i], previous[i], hashes[i], sealedAt = l.Seq, l.EventID, l.Previous, l.Hash, l.SealedAt
	}
	if _, err := q.exec(ctx, `insert into audit_chain (environment_id, seq, event_id, previous, hash, sealed_at)
		select $1, s, e, p, h, $6 from unnest($2::bigint[], $3::text[], $4::bytea[], $5::bytea[]) as t (s, e, p, h)`,
		h.EnvironmentID, seqs, ids, previous, hashes, sealedAt); err != nil {
		return err
	}
	_, err := q.exec(ctx, "update audit_heads set txid = $2::xid8, event_seq = $3, seq = $4, hash = $5 where environment_id = $1",
		h.EnvironmentID, h.Position().txid(), h.EventSeq, h.Seq, h.Hash)
	return err
}

// Head returns the head of an environment, or ErrNotFound if nothing was ever sealed.
func (q Audit) Head(ctx context.Context, s Scope) (AuditHead, error) {
	var h AuditHead
	err := q.gorm(ctx).Raw(`select h.* from audit_heads h join environments e on e.id = h.environment_id
		where e.tenant_id = ? and e.id = ?`, s.Tenant, s.Environment).Take(&h).Error
	return orNotFound(h, err)
}

// Chain returns at most limit links with their events, in order, beginning with the link numbered from.
func (q Audit) Chain(ctx context.Context, s Scope, from int64, limit int) ([]AuditLink, error) {
	var links []AuditLink
	if err := q.gorm(ctx).Raw(`select seq, event_id, previous, hash, sealed_at from audit_chain
		where environment_id = ? and seq >= ? order by seq limit ?`, s.Environment, from, limit).Scan(&links).Error; err != nil {
		return nil, err
	}
	return links, q.attachEvents(ctx, s, links)
}

func (q Audit) attachEvents(ctx context.Context, s Scope, links []AuditLink) error {
	ids := make([]string, len(links))
	for i, l := range links {
		ids[i] = l.EventID
	}
	var rows []models.Event
	if err := q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and id in ?", s.Tenant, s.Environment, ids).Find(&rows).Error; err != nil {
		return err
	}
	byID := make(map[string]*models.Event, len(rows))
	for i := range rows {
		byID[rows[i].ID] = &rows[i]
	}
	for i := range links {
		links[i].Event = byID[links[i].EventID]
	}
	return nil
}

// Gaps compares the log with the chain up to the head. It returns the ids of events before the head that are in no link
// (at most limit of them) and the number of events behind the head. If late is set it leaves out the events that
// LateEntries counts.
func (q Audit) Gaps(ctx context.Context, s Scope, h AuditHead, late bool, limit int) (unlinked []string, waiting int64, err error) {
	query := `select v.id from events v where v.environment_id = ? and (v.txid, v.seq) <= (?::xid8, ?)
		and not exists (select 1 from audit_chain c where c.event_id = v.id)`
	if late {
		query += " and not exists (select 1 from audit_heads h where " + lateHere + ")"
	}
	if err := q.gorm(ctx).Raw(query+" order by v.txid, v.seq limit ?",
		s.Environment, h.Position().txid(), h.EventSeq, limit).Scan(&unlinked).Error; err != nil {
		return nil, 0, err
	}
	err = q.queryRow(ctx, `select count(*) from events where environment_id = $1 and (txid, seq) > ($2::xid8, $3)`,
		s.Environment, h.Position().txid(), h.EventSeq).Scan(&waiting)
	return unlinked, waiting, err
}

// HashAt returns the hash of the link with a number, or ErrNotFound.
func (q Audit) HashAt(ctx context.Context, s Scope, seq int64) ([]byte, error) {
	var hash []byte
	err := q.queryRow(ctx, "select hash from audit_chain where environment_id = $1 and seq = $2", s.Environment, seq).Scan(&hash)
	return orNotFound(hash, err)
}

// AuditFilter narrows a list of audit entries. Empty fields filter nothing.
type AuditFilter struct {
	Actor string
	Type  string
	Since *time.Time
	Until *time.Time
}

// Entries lists the sealed events with their links, newest first.
func (q Audit) Entries(ctx context.Context, s Scope, f AuditFilter, p Page) ([]AuditLink, string, error) {
	tx := q.gorm(ctx).Where("tenant_id = ? and environment_id = ?", s.Tenant, s.Environment).
		Where("exists (select 1 from audit_chain c where c.event_id = events.id)")
	if f.Actor != "" {
		tx = tx.Where("actor = ?", f.Actor)
	}
	if f.Type != "" {
		tx = tx.Where("type = ?", f.Type)
	}
	tx = between(tx, f.Since, f.Until)
	tx, err := paginate(tx, p, "at", "id")
	if err != nil {
		return nil, "", err
	}
	var rows []models.Event
	if err := tx.Find(&rows).Error; err != nil {
		return nil, "", err
	}
	rows, next := cutPage(rows, p, func(e models.Event) (time.Time, string) { return e.At, e.ID })
	links, err := q.LinksOf(ctx, s, rows)
	return links, next, err
}

// LinksOf returns the links of the given events, each with its event. Events that are not sealed are left out.
func (q Audit) LinksOf(ctx context.Context, s Scope, rows []models.Event) ([]AuditLink, error) {
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	var found []AuditLink
	if err := q.gorm(ctx).Raw(`select seq, event_id, previous, hash, sealed_at from audit_chain where environment_id = ? and event_id in ?`,
		s.Environment, ids).Scan(&found).Error; err != nil {
		return nil, err
	}
	byEvent := make(map[string]AuditLink, len(found))
	for _, l := range found {
		byEvent[l.EventID] = l
	}
	links := make([]AuditLink, 0, len(rows))
	for i := range rows {
		if l, ok := byEvent[rows[i].ID]; ok {
			l.Event = &rows[i]
			links = append(links, l)
		}
	}
	return links, nil
}
