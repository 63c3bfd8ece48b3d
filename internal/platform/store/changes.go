package store

import (
	"context"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/models"
)

// Changes stores change requests.
type Changes struct{ *Q }

// Changes returns the queries of the aggregate.
func (q *Q) Changes() Changes { return Changes{q} }

// Insert adds a pending change request. It returns false and inserts nothing if the same proposal is pending.
func (q Changes) Insert(ctx context.Context, c models.Change) (bool, error) {
	n, err := q.exec(ctx, `insert into changes (id, tenant_id, environment_id, kind, status, target, action, proposed, base, differences,
		digest, proposed_by, principal, created_at, expires_at)
		values ($1, $2, $3, $4, 'pending', $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) on conflict do nothing`,
		c.ID, c.TenantID, c.EnvironmentID, string(c.Kind), c.Target, c.Action, c.Proposed, c.Base, c.Differences,
		c.Digest, c.ProposedBy, c.Principal, c.CreatedAt, c.ExpiresAt)
	return n == 1, err
}

// Get returns one change request of the environment.
func (q Changes) Get(ctx context.Context, s Scope, id string) (models.Change, error) {
	var row models.Change
	err := q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and id = ?", s.Tenant, s.Environment, id).Take(&row).Error
	return orNotFound(row, err)
}

// Lock returns a change request of an environment, for its workflow, and locks the row until the transaction ends.
func (q Changes) Lock(ctx context.Context, environment, id string) (models.Change, error) {
	var row models.Change
	return orNotFound(row, q.gorm(ctx).Raw("select * from changes where environment_id = ? and id = ? for update", environment, id).Take(&row).Error)
}

// LockPending returns the pending change request with a digest and locks it until the transaction ends.
func (q Changes) LockPending(ctx context.Context, s Scope, digest []byte) (models.Change, error) {
	var row models.Change
	return orNotFound(row, q.gorm(ctx).Raw(`select * from changes where tenant_id = ? and environment_id = ? and digest = ?
		and status = 'pending' for update`, s.Tenant, s.Environment, digest).Take(&row).Error)
}

// ChangeFilter narrows a list of change requests. Now decides which pending ones count as expired.
type ChangeFilter struct {
	Status models.ChangeStatus // empty for all
	Kinds  []models.ChangeKind // empty for all
	Now    time.Time
}

// List lists change requests, newest first.
func (q Changes) List(ctx context.Context, s Scope, f ChangeFilter, p Page) ([]models.Change, string, error) {
	tx := q.gorm(ctx).Model(&models.Change{}).Where("tenant_id = ? and environment_id = ?", s.Tenant, s.Environment)
	if len(f.Kinds) > 0 {
		tx = tx.Where("kind in ?", f.Kinds)
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
	tx, err := paginate(tx, p, "created_at", "id")
	if err != nil {
		return nil, "", err
	}
	var rows []models.Change
	if err := tx.Find(&rows).Error; err != nil {
		return nil, "", err
	}
	rows, next := cutPage(rows, p, func(c models.Change) (time.Time, string) { return c.CreatedAt, c.ID })
	return rows, next, nil
}

// Pending counts the pending change requests that are not due.
func (q Changes) Pending(ctx context.Context, s Scope, now time.Time) (int64, error) {
	var n int64
	err := q.queryRow(ctx, `select count(*) from changes where tenant_id = $1 and environment_id = $2 and status = 'pending'
		and expires_at > $3`, s.Tenant, s.Environment, now).Scan(&n)
	return n, err
}

// Resolve moves a pending change request that is not due to a final status and reports whether it did.
func (q Changes) Resolve(ctx context.Context, c models.Change, to models.ChangeStatus, by string, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update changes set status = $2, resolved_at = $3, resolved_by = $4
		where id = $1 and environment_id = $5 and status = 'pending' and expires_at > $3`, c.ID, string(to), at, by, c.EnvironmentID)
	return n == 1, err
}

// Expire moves a pending change request that is due to expired and reports whether it did.
func (q Changes) Expire(ctx context.Context, c models.Change, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update changes set status = 'expired', resolved_at = $2
		where id = $1 and environment_id = $3 and status = 'pending' and expires_at <= $2`, c.ID, at, c.EnvironmentID)
	return n == 1, err
}

// Overdue returns at most limit change requests of any environment that should have expired before t.
func (q Changes) Overdue(ctx context.Context, t time.Time, limit int) ([]Overdue, error) {
	var rows []Overdue
	err := q.gorm(ctx).Raw("select environment_id as environment, id from changes where status = 'pending' and expires_at < ? order by expires_at limit ?", t, limit).Find(&rows).Error
	return rows, err
}

// ChangeRight is the right to change the configuration: of credentials with one of the scopes and the permission.
type ChangeRight struct {
	Scopes     []string
	Permission models.Permission
	Approves   bool // to approve a change, which a credential that was given to a different principal may not
}

// MayChange reports whether an actor may change the configuration of the environment at a time: a credential with the right that
// is neither revoked nor expired, a person who is an operator of the environment, or a command of the operator of the service.
func (q Principals) MayChange(ctx context.Context, s Scope, actor string, r ChangeRight, at time.Time) (bool, error) {
	if strings.HasPrefix(actor, "cli:") {
		return true, nil
	}
	var may bool
	err := q.queryRow(ctx, `select exists (select from credentials c where 'credential:' || c.id = $3 and c.tenant_id = $1
			and c.environment_id = $2 and c.scope = any($4) and c.revoked_at is null and (c.ends_at is null or c.ends_at > $5)
			and (not $7 or c.former_principal is null) and (c.permissions is null or $6 = any(c.permissions)))
		or exists (select from people p join person_roles pr on pr.person_id = p.id where 'person:' || p.id = $3
			and p.tenant_id = $1 and p.revoked_at is null and pr.environment_id = $2 and pr.role = 'operator')`,
		s.Tenant, s.Environment, actor, r.Scopes, at, string(r.Permission), r.Approves).Scan(&may)
	return may, err
}
