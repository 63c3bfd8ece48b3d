package store

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/models"
)

// numbered marks the cursors of Numbered, which are behind a number and not a time.
const numbered = "link"

// Numbered returns a page of the sealed log in the order of its numbers, newest first, and the cursor of the next page. Entries orders
// by time: events of concurrent transactions have another order there.
func (q Audit) Numbered(ctx context.Context, s Scope, f AuditFilter, p Page) ([]AuditLink, string, error) {
	tx := q.gorm(ctx).Table("audit_chain c").Select("c.seq, c.event_id, c.previous, c.hash, c.sealed_at").
		Joins("join events on events.id = c.event_id and events.tenant_id = ? and events.environment_id = c.environment_id", s.Tenant).
		Where("c.environment_id = ?", s.Environment)
	if f.Actor != "" {
		tx = tx.Where("actor = ?", f.Actor)
	}
	if f.Type != "" {
		tx = tx.Where("type = ?", f.Type)
	}
	tx = between(tx, f.Since, f.Until)
	if p.After != "" {
		at, id, err := ParseCursor(p.After)
		if err != nil || id != numbered {
			return nil, "", ErrCursor
		}
		tx = tx.Where("c.seq < ?", at.UnixMicro())
	}
	var links []AuditLink
	if err := tx.Order("c.seq desc").Limit(p.Limit + 1).Find(&links).Error; err != nil {
		return nil, "", err
	}
	links, next := cutPage(links, p, func(l AuditLink) (time.Time, string) { return auditPosition(l.Seq), numbered })
	return links, next, q.withEvents(ctx, s, links)
}

// auditPosition writes a number as the time of a cursor.
func auditPosition(number int64) time.Time { return time.UnixMicro(number) }

// withEvents fills in the events of links.
func (q Audit) withEvents(ctx context.Context, s Scope, links []AuditLink) error {
	ids := make([]string, len(links))
	at := make(map[string]int, len(links))
	for i, l := range links {
		ids[i], at[l.EventID] = l.EventID, i
	}
	var rows []models.Event
	err := q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and id in ?", s.Tenant, s.Environment, ids).Find(&rows).Error
	for i := range rows {
		links[at[rows[i].ID]].Event = &rows[i]
	}
	return err
}
