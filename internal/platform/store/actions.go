package store

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/models"
)

// Actions stores actions and their policy versions.
type Actions struct{ *Q }

// Actions returns the queries of the aggregate.
func (q *Q) Actions() Actions { return Actions{q} }

// Create inserts an action. The key is unique among those not archived (index actions_key).
func (q Actions) Create(ctx context.Context, a models.Action) error {
	return q.gorm(ctx).Create(&a).Error
}

// Get is one action that is not archived.
func (q Actions) Get(ctx context.Context, s Scope, id string) (models.Action, error) {
	var a models.Action
	return one(a, q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and id = ? and archived_at is null",
		s.Tenant, s.Environment, id).Take(&a).Error)
}

// Any is one action, archived or not: what was decided once is decided again under it.
func (q Actions) Any(ctx context.Context, s Scope, id string) (models.Action, error) {
	var a models.Action
	return one(a, q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and id = ?", s.Tenant, s.Environment, id).Take(&a).Error)
}

// ByKey is one action that is not archived.
func (q Actions) ByKey(ctx context.Context, s Scope, key string) (models.Action, error) {
	var a models.Action
	return one(a, q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and key = ? and archived_at is null",
		s.Tenant, s.Environment, key).Take(&a).Error)
}

// ByKeys are the actions, not archived, that have the keys.
func (q Actions) ByKeys(ctx context.Context, s Scope, keys []string) ([]models.Action, error) {
	var rows []models.Action
	err := q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and key in ? and archived_at is null",
		s.Tenant, s.Environment, keys).Find(&rows).Error
	return rows, err
}

// List lists the actions that are not archived, newest first.
func (q Actions) List(ctx context.Context, s Scope, p Page) ([]models.Action, string, error) {
	tx, err := paginate(q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and archived_at is null", s.Tenant, s.Environment),
		p, "created_at", "id")
	if err != nil {
		return nil, "", err
	}
	var rows []models.Action
	if err := tx.Find(&rows).Error; err != nil {
		return nil, "", err
	}
	rows, next := cut(rows, p, func(a models.Action) (time.Time, string) { return a.CreatedAt, a.ID })
	return rows, next, nil
}

// ActionChange is what PATCH may change; nil keeps.
type ActionChange struct {
	Name        *string
	Consequence *string
	Mode        *models.ActionMode
}

// Update changes an action that is not archived; false where there is none.
func (q Actions) Update(ctx context.Context, s Scope, id string, c ActionChange, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update actions set name = coalesce($4, name), consequence = coalesce($5, consequence),
		mode = coalesce($6, mode), updated_at = $7
		where tenant_id = $1 and environment_id = $2 and id = $3 and archived_at is null`,
		s.Tenant, s.Environment, id, c.Name, c.Consequence, c.Mode, at)
	return n == 1, err
}

// Archive ends an action; false where it is archived already or there is none.
func (q Actions) Archive(ctx context.Context, s Scope, id string, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update actions set archived_at = $4, updated_at = $4
		where tenant_id = $1 and environment_id = $2 and id = $3 and archived_at is null`, s.Tenant, s.Environment, id, at)
	return n == 1, err
}

// Lock takes the action's row for the transaction, so that versions are numbered and activated one at a time.
func (q Actions) Lock(ctx context.Context, s Scope, id string) (models.Action, error) {
	var a models.Action
	return one(a, q.gorm(ctx).Raw(`select * from actions where tenant_id = ? and environment_id = ? and id = ?
		and archived_at is null for update`, s.Tenant, s.Environment, id).Take(&a).Error)
}

// NextPolicyVersion is the number after the action's newest version. Hold the action's lock.
func (q Actions) NextPolicyVersion(ctx context.Context, action string) (int, error) {
	var n int
	err := q.queryRow(ctx, "select coalesce(max(version), 0) + 1 from policy_versions where action_id = $1", action).Scan(&n)
	return n, err
}

// CreatePolicyVersion inserts a draft.
func (q Actions) CreatePolicyVersion(ctx context.Context, v models.PolicyVersion) error {
	return q.gorm(ctx).Create(&v).Error
}

// PolicyVersion is one version of an action.
func (q Actions) PolicyVersion(ctx context.Context, s Scope, action string, version int) (models.PolicyVersion, error) {
	var v models.PolicyVersion
	return one(v, q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and action_id = ? and version = ?",
		s.Tenant, s.Environment, action, version).Take(&v).Error)
}

// PolicyVersions lists an action's versions, newest first.
func (q Actions) PolicyVersions(ctx context.Context, s Scope, action string, p Page) ([]models.PolicyVersion, string, error) {
	tx, err := paginate(q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and action_id = ?", s.Tenant, s.Environment, action),
		p, "created_at", "id")
	if err != nil {
		return nil, "", err
	}
	var rows []models.PolicyVersion
	if err := tx.Find(&rows).Error; err != nil {
		return nil, "", err
	}
	rows, next := cut(rows, p, func(v models.PolicyVersion) (time.Time, string) { return v.CreatedAt, v.ID })
	return rows, next, nil
}

// ActivatePolicyVersion makes a draft the action's one active version and retires the one before. It reports false, and
// changes nothing, where the version is no draft. Hold the action's lock.
func (q Actions) ActivatePolicyVersion(ctx context.Context, s Scope, action string, version int, by string, at time.Time) (bool, error) {
	var draft bool
	if err := q.queryRow(ctx, `select status = 'draft' from policy_versions
		where tenant_id = $1 and environment_id = $2 and action_id = $3 and version = $4`,
		s.Tenant, s.Environment, action, version).Scan(&draft); err != nil || !draft {
		return false, err
	}
	if _, err := q.exec(ctx, `update policy_versions set status = 'retired', retired_at = $2
		where action_id = $1 and status = 'active'`, action, at); err != nil {
		return false, err
	}
	n, err := q.exec(ctx, `update policy_versions set status = 'active', activated_at = $3, activated_by = $4
		where action_id = $1 and version = $2 and status = 'draft'`, action, version, at, by)
	if err != nil || n == 0 {
		return false, err
	}
	_, err = q.exec(ctx, "update actions set active_policy_version = $2, updated_at = $3 where id = $1", action, version, at)
	return true, err
}

// IDs resolves the keys of actions that are not archived; keys that name none are missing from the answer.
func (q Actions) IDs(ctx context.Context, s Scope, keys []string) (map[string]string, error) {
	var rows []struct{ Key, ID string }
	err := q.gorm(ctx).Raw(`select key, id from actions where tenant_id = ? and environment_id = ? and key in ? and archived_at is null`,
		s.Tenant, s.Environment, keys).Scan(&rows).Error
	out := make(map[string]string, len(rows))
	for _, r := range rows {
		out[r.Key] = r.ID
	}
	return out, err
}
