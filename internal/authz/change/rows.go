package change

import (
	"context"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/countersign-dev/countersign/internal/authz/settle"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// insertChange adds a pending change request. It returns false and inserts nothing if the same proposal is pending.
func insertChange(ctx context.Context, q *pg.Q, c models.Change) (bool, error) {
	res := q.Gorm(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&c)
	return res.RowsAffected == 1, res.Error
}

// getChange returns one change request of the environment.
func getChange(ctx context.Context, q *pg.Q, s pg.Scope, id string) (models.Change, error) {
	var row models.Change
	err := q.Gorm(ctx).Where("tenant_id = ? and environment_id = ? and id = ?", s.Tenant, s.Environment, id).Take(&row).Error
	return pg.OrNotFound(row, err)
}

// lockChange returns a change request of an environment, for its workflow, and locks the row until the transaction ends.
func lockChange(ctx context.Context, q *pg.Q, environment, id string) (models.Change, error) {
	var row models.Change
	return pg.OrNotFound(row, locked(ctx, q).Where("environment_id = ? and id = ?", environment, id).Take(&row).Error)
}

// lockPendingChanges returns the pending change request with a digest and locks it until the transaction ends.
func lockPendingChanges(ctx context.Context, q *pg.Q, s pg.Scope, digest []byte) (models.Change, error) {
	var row models.Change
	return pg.OrNotFound(row, locked(ctx, q).Where("tenant_id = ? and environment_id = ? and digest = ? and status = 'pending'",
		s.Tenant, s.Environment, digest).Take(&row).Error)
}

// locked begins a query that locks the rows until the transaction ends.
func locked(ctx context.Context, q *pg.Q) *gorm.DB {
	return q.Gorm(ctx).Clauses(clause.Locking{Strength: "UPDATE"})
}

// ListFilter narrows a list of change requests. Now decides which pending ones count as expired.
type ListFilter struct {
	Status models.ChangeStatus // empty for all
	Kinds  []models.ChangeKind // empty for all
	Target string              // empty for all
	Now    time.Time
}

// listChanges lists change requests, newest first.
func listChanges(ctx context.Context, q *pg.Q, s pg.Scope, f ListFilter, p pg.Page) ([]models.Change, string, error) {
	tx := q.Gorm(ctx).Model(&models.Change{}).Where("tenant_id = ? and environment_id = ?", s.Tenant, s.Environment)
	if len(f.Kinds) > 0 {
		tx = tx.Where("kind in ?", f.Kinds)
	}
	if f.Target != "" {
		tx = tx.Where("target = ?", f.Target)
	}
	switch f.Status {
	case "":
	case models.ChangePending:
		tx = tx.Where("status = 'pending' and expires_at > ?", f.Now)
	case models.ChangeExpired:
		tx = tx.Where("(status = 'expired' or status = 'pending' and expires_at <= ?)", f.Now)
	default:
		tx = tx.Where("status = ?", f.Status)
	}
	tx, err := pg.Paginate(tx, p, "created_at", "id")
	if err != nil {
		return nil, "", err
	}
	var rows []models.Change
	if err := tx.Find(&rows).Error; err != nil {
		return nil, "", err
	}
	rows, next := pg.CutPage(rows, p, func(c models.Change) (time.Time, string) { return c.CreatedAt, c.ID })
	return rows, next, nil
}

// lockNaming locks and returns the change requests about the entries of a list that name one by its key.
func lockNaming(ctx context.Context, q *pg.Q, s pg.Scope, list, key string) ([]models.Change, error) {
	var rows []models.Change
	err := q.Gorm(ctx).Raw(`select * from changes where tenant_id = @tenant and environment_id = @environment and kind = 'list.entries' and target = @list
		and (proposed -> 'add' @> jsonb_build_array(jsonb_build_object('key', cast(@key as text))) or proposed -> 'remove' @> jsonb_build_array(cast(@key as text))
			or base -> 'entries' @> jsonb_build_array(jsonb_build_object('key', cast(@key as text))))
		order by id for update`, map[string]any{"tenant": s.Tenant, "environment": s.Environment, "list": list, "key": key}).Find(&rows).Error
	return rows, err
}

// lockMentioning returns the change requests about lists that propose an entry whose reason contains a text, and locks them.
func lockMentioning(ctx context.Context, q *pg.Q, s pg.Scope, text string) ([]models.Change, error) {
	var rows []models.Change
	err := q.Gorm(ctx).Raw(`select * from changes where tenant_id = @tenant and environment_id = @environment and kind = 'list.entries'
		and exists (select from jsonb_array_elements(case when jsonb_typeof(proposed -> 'add') = 'array' then proposed -> 'add' else '[]' end) e where strpos(e ->> 'reason', @text) > 0)
		order by id for update`, map[string]any{"tenant": s.Tenant, "environment": s.Environment, "text": text}).Find(&rows).Error
	return rows, err
}

// change updates a change request that meets a condition, with its MAC, and reports whether it did.
func change(ctx context.Context, q *pg.Q, c models.Change, where, set string, args ...any) (bool, error) {
	args = append([]any{map[string]any{"environment": c.EnvironmentID, "id": c.ID}}, args...)
	rows, err := pg.Change[models.Change](ctx, q, "environment_id = @environment and id = @id and "+where, set, args...)
	return len(rows) == 1, err
}

// unproposed is the digest of no proposal.
const unproposed = "digest = sha256(id::bytea)"

// rewrite replaces the content of a locked change request. Its digest no longer matches any proposal.
func rewrite(ctx context.Context, q *pg.Q, c models.Change) error {
	_, err := change(ctx, q, c, "true", "proposed = @proposed, base = @base, differences = @differences, "+unproposed,
		map[string]any{"proposed": c.Proposed, "base": c.Base, "differences": c.Differences})
	return err
}

// pendingChanges counts the pending change requests that are not due.
func pendingChanges(ctx context.Context, q *pg.Q, s pg.Scope, now time.Time) (int64, error) {
	var n int64
	err := q.QueryRow(ctx, `select count(*) from changes where tenant_id = $1 and environment_id = $2 and status = 'pending'
		and expires_at > $3`, s.Tenant, s.Environment, now).Scan(&n)
	return n, err
}

// forgetTarget removes the target of change requests of a kind, and the reasons, which may name it.
func forgetTarget(ctx context.Context, q *pg.Q, s pg.Scope, kind models.ChangeKind, target string) error {
	_, err := pg.Change[models.Change](ctx, q, "tenant_id = @tenant and environment_id = @environment and kind = @kind and target = @target",
		"target = 'erased', reason = '', resolved_for = '', "+unproposed,
		map[string]any{"tenant": s.Tenant, "environment": s.Environment, "kind": kind, "target": target})
	return err
}

// resolveChange moves a pending change request that is not due to a final status and reports whether it did.
func resolveChange(ctx context.Context, q *pg.Q, c models.Change, to models.ChangeStatus, m Move) (bool, error) {
	return change(ctx, q, c, "status = 'pending' and expires_at > @at", "status = @to, resolved_at = @at, resolved_by = @actor, resolved_for = @reason",
		map[string]any{"to": to, "at": m.At, "actor": m.Actor, "reason": m.Reason})
}

// explainChange sets the requester's reason of a pending change request.
func explainChange(ctx context.Context, q *pg.Q, c models.Change, reason string) error {
	_, err := change(ctx, q, c, "status = 'pending'", "reason = @reason", map[string]any{"reason": reason})
	return err
}

// expireChange moves a pending change request that is due to expired and reports whether it did.
func expireChange(ctx context.Context, q *pg.Q, c models.Change, at time.Time) (bool, error) {
	return change(ctx, q, c, "status = 'pending' and expires_at <= @at", "status = 'expired', resolved_at = @at", map[string]any{"at": at})
}

// OverdueChanges returns at most limit change requests of any environment that should have expired before t.
func OverdueChanges(ctx context.Context, q *pg.Q, t time.Time, limit int) ([]settle.Overdue, error) {
	var rows []settle.Overdue
	err := q.Gorm(ctx).Raw("select environment_id as environment, id from changes where status = 'pending' and expires_at < ? order by expires_at limit ?", t, limit).Find(&rows).Error
	return rows, err
}
