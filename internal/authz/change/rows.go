package change

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/internal/authz/settle"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// insertChange adds a pending change request. It returns false and inserts nothing if the same proposal is pending.
func insertChange(ctx context.Context, q *pg.Q, c models.Change) (bool, error) {
	n, err := q.Exec(ctx, `insert into changes (id, tenant_id, environment_id, kind, status, target, action, proposed, base, differences,
		digest, proposed_by, principal, created_at, expires_at, reason)
		values ($1, $2, $3, $4, 'pending', $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) on conflict do nothing`,
		c.ID, c.TenantID, c.EnvironmentID, string(c.Kind), c.Target, c.Action, c.Proposed, c.Base, c.Differences,
		c.Digest, c.ProposedBy, c.Principal, c.CreatedAt, c.ExpiresAt, c.Reason)
	return n == 1, err
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
	return pg.OrNotFound(row, q.Gorm(ctx).Raw("select * from changes where environment_id = ? and id = ? for update", environment, id).Take(&row).Error)
}

// lockPendingChanges returns the pending change request with a digest and locks it until the transaction ends.
func lockPendingChanges(ctx context.Context, q *pg.Q, s pg.Scope, digest []byte) (models.Change, error) {
	var row models.Change
	return pg.OrNotFound(row, q.Gorm(ctx).Raw(`select * from changes where tenant_id = ? and environment_id = ? and digest = ?
		and status = 'pending' for update`, s.Tenant, s.Environment, digest).Take(&row).Error)
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

// rewrite replaces the content of a locked change request. Its digest is that of no proposal any more.
func rewrite(ctx context.Context, q *pg.Q, c models.Change) error {
	_, err := q.Exec(ctx, "update changes set proposed = $3, base = $4, differences = $5, digest = sha256(id::bytea) where environment_id = $1 and id = $2",
		c.EnvironmentID, c.ID, c.Proposed, c.Base, c.Differences)
	return err
}

// pendingChanges counts the pending change requests that are not due.
func pendingChanges(ctx context.Context, q *pg.Q, s pg.Scope, now time.Time) (int64, error) {
	var n int64
	err := q.QueryRow(ctx, `select count(*) from changes where tenant_id = $1 and environment_id = $2 and status = 'pending'
		and expires_at > $3`, s.Tenant, s.Environment, now).Scan(&n)
	return n, err
}

// resolveChange moves a pending change request that is not due to a final status and reports whether it did.
func resolveChange(ctx context.Context, q *pg.Q, c models.Change, to models.ChangeStatus, m Move) (bool, error) {
	n, err := q.Exec(ctx, `update changes set status = $2, resolved_at = $3, resolved_by = $4, resolved_for = $6
		where id = $1 and environment_id = $5 and status = 'pending' and expires_at > $3`, c.ID, string(to), m.At, m.Actor, c.EnvironmentID, m.Reason)
	return n == 1, err
}

// explainChange sets the requester's reason of a pending change request.
func explainChange(ctx context.Context, q *pg.Q, c models.Change, reason string) error {
	_, err := q.Exec(ctx, "update changes set reason = $3 where id = $1 and environment_id = $2 and status = 'pending'", c.ID, c.EnvironmentID, reason)
	return err
}

// expireChange moves a pending change request that is due to expired and reports whether it did.
func expireChange(ctx context.Context, q *pg.Q, c models.Change, at time.Time) (bool, error) {
	n, err := q.Exec(ctx, `update changes set status = 'expired', resolved_at = $2
		where id = $1 and environment_id = $3 and status = 'pending' and expires_at <= $2`, c.ID, at, c.EnvironmentID)
	return n == 1, err
}

// OverdueChanges returns at most limit change requests of any environment that should have expired before t.
func OverdueChanges(ctx context.Context, q *pg.Q, t time.Time, limit int) ([]settle.Overdue, error) {
	var rows []settle.Overdue
	err := q.Gorm(ctx).Raw("select environment_id as environment, id from changes where status = 'pending' and expires_at < ? order by expires_at limit ?", t, limit).Find(&rows).Error
	return rows, err
}
