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

// Create inserts an action. Its key is unique among the actions that are not archived: a duplicate violates actions_key.
func (q Actions) Create(ctx context.Context, a models.Action) error {
	return q.gorm(ctx).Create(&a).Error
}

// Get returns one action that is not archived.
func (q Actions) Get(ctx context.Context, s Scope, id string) (models.Action, error) {
	var a models.Action
	return orNotFound(a, q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and id = ? and archived_at is null",
		s.Tenant, s.Environment, id).Take(&a).Error)
}

// GetIncludingArchived returns one action, archived or not. A follow-up decision is made under the action of the first
// decision, even if it was archived since.
func (q Actions) GetIncludingArchived(ctx context.Context, s Scope, id string) (models.Action, error) {
	var a models.Action
	return orNotFound(a, q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and id = ?", s.Tenant, s.Environment, id).Take(&a).Error)
}

// ByKey returns the action with the key, unless it is archived.
func (q Actions) ByKey(ctx context.Context, s Scope, key string) (models.Action, error) {
	var a models.Action
	return orNotFound(a, q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and key = ? and archived_at is null",
		s.Tenant, s.Environment, key).Take(&a).Error)
}

// ByKeys returns the actions with the keys that are not archived. Unknown keys are left out.
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
	rows, next := cutPage(rows, p, func(a models.Action) (time.Time, string) { return a.CreatedAt, a.ID })
	return rows, next, nil
}

// ActionChange lists the fields that PATCH may change. A nil field stays as it is.
type ActionChange struct {
	Name        *string
	Consequence *string
	Mode        *models.ActionMode
}

// Current returns the action's values of the fields that c gives.
func (c ActionChange) Current(a models.Action) (out ActionChange) {
	if c.Name != nil {
		out.Name = &a.Name
	}
	if c.Consequence != nil {
		out.Consequence = &a.Consequence
	}
	if c.Mode != nil {
		out.Mode = &a.Mode
	}
	return out
}

// Update changes an action that is not archived; false if there is none.
func (q Actions) Update(ctx context.Context, s Scope, id string, c ActionChange, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update actions set name = coalesce($4, name), consequence = coalesce($5, consequence),
		mode = coalesce($6, mode), updated_at = $7
		where tenant_id = $1 and environment_id = $2 and id = $3 and archived_at is null`,
		s.Tenant, s.Environment, id, c.Name, c.Consequence, c.Mode, at)
	return n == 1, err
}

// Archive archives an action. It returns false if there is none or it is archived already.
func (q Actions) Archive(ctx context.Context, s Scope, id string, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update actions set archived_at = $4, updated_at = $4
		where tenant_id = $1 and environment_id = $2 and id = $3 and archived_at is null`, s.Tenant, s.Environment, id, at)
	return n == 1, err
}

// Lock locks the row of an action until the transaction ends, so that policy versions are numbered and activated one at a
// time.
func (q Actions) Lock(ctx context.Context, s Scope, id string) (models.Action, error) {
	var a models.Action
	return orNotFound(a, q.gorm(ctx).Raw(`select * from actions where tenant_id = ? and environment_id = ? and id = ?
		and archived_at is null for update`, s.Tenant, s.Environment, id).Take(&a).Error)
}

// NextPolicyVersion returns the number for the action's next policy version, from 1. The caller must have locked the
// action.
func (q Actions) NextPolicyVersion(ctx context.Context, action string) (int, error) {
	var n int
	err := q.queryRow(ctx, "select coalesce(max(version), 0) + 1 from policy_versions where action_id = $1", action).Scan(&n)
	return n, err
}

// CreatePolicyVersion inserts a policy version in draft.
func (q Actions) CreatePolicyVersion(ctx context.Context, v models.PolicyVersion) error {
	return q.gorm(ctx).Create(&v).Error
}

// PolicyVersion returns one version of an action.
func (q Actions) PolicyVersion(ctx context.Context, s Scope, action string, version int) (models.PolicyVersion, error) {
	var v models.PolicyVersion
	return orNotFound(v, q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and action_id = ? and version = ?",
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
	rows, next := cutPage(rows, p, func(v models.PolicyVersion) (time.Time, string) { return v.CreatedAt, v.ID })
	return rows, next, nil
}

// ActivatePolicyVersion makes a draft the action's only active version and retires the previous one. It returns false and
// changes nothing if the version is not a draft. The caller must have locked the action.
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

// IDs returns the ids of the actions with the keys, by key. Archived and unknown actions are left out.
func (q Actions) IDs(ctx context.Context, s Scope, keys []string) (map[string]string, error) {
	var rows []struct{ Key, ID string }
	err := q.gorm(ctx).Raw(`select key, id from actions where tenant_id = ? and environment_id = ? and key in ? and archived_at is null`,
		s.Tenant, s.Environment, keys).Find(&rows).Error
	out := make(map[string]string, len(rows))
	for _, r := range rows {
		out[r.Key] = r.ID
	}
	return out, err
}
