package action

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// createAction inserts an action. Its key is unique among the actions that are not archived: a duplicate violates actions_key.
func createAction(ctx context.Context, q *pg.Q, a models.Action) error {
	return q.Gorm(ctx).Create(&a).Error
}

// GetAction returns one action that is not archived.
func GetAction(ctx context.Context, q *pg.Q, s pg.Scope, id string) (models.Action, error) {
	var a models.Action
	return pg.OrNotFound(a, q.Gorm(ctx).Where("tenant_id = ? and environment_id = ? and id = ? and archived_at is null",
		s.Tenant, s.Environment, id).Take(&a).Error)
}

// GetActionOrArchived returns one action, archived or not. A follow-up decision is made under the action of the first
// decision, even if it was archived since.
func GetActionOrArchived(ctx context.Context, q *pg.Q, s pg.Scope, id string) (models.Action, error) {
	var a models.Action
	return pg.OrNotFound(a, q.Gorm(ctx).Where("tenant_id = ? and environment_id = ? and id = ?", s.Tenant, s.Environment, id).Take(&a).Error)
}

// actionByKey returns the action with the key, unless it is archived.
func actionByKey(ctx context.Context, q *pg.Q, s pg.Scope, key string) (models.Action, error) {
	var a models.Action
	return pg.OrNotFound(a, q.Gorm(ctx).Where("tenant_id = ? and environment_id = ? and key = ? and archived_at is null",
		s.Tenant, s.Environment, key).Take(&a).Error)
}

// listActions lists the actions that are not archived, newest first.
func listActions(ctx context.Context, q *pg.Q, s pg.Scope, p pg.Page) ([]models.Action, string, error) {
	tx, err := pg.Paginate(pg.Unchecked(q.Gorm(ctx)).Where("tenant_id = ? and environment_id = ? and archived_at is null", s.Tenant, s.Environment),
		p, "created_at", "id")
	if err != nil {
		return nil, "", err
	}
	var rows []models.Action
	if err := tx.Find(&rows).Error; err != nil {
		return nil, "", err
	}
	rows, next := pg.CutPage(rows, p, func(a models.Action) (time.Time, string) { return a.CreatedAt, a.ID })
	return rows, next, nil
}

// Change lists the fields that PATCH may change. A nil field stays as it is.
type Change struct {
	Name        *string
	Consequence *string
	Mode        *models.ActionMode
	// Labels replace the texts in all other languages.
	Labels map[string]models.ActionText
}

// Check returns a problem if the change would leave translations of texts that it replaces.
func (c Change) Check(before models.Action) error {
	labels, err := before.Texts()
	if err != nil || len(labels) == 0 || c.Labels != nil {
		return err
	}
	if c.Name != nil && *c.Name != before.Name || c.Consequence != nil && *c.Consequence != before.Consequence {
		return problem.Invalid([]any{"body", "labels"}, "labels must be given with a new name or consequence, because the stored ones translate the old: "+
			strings.Join(slices.Sorted(maps.Keys(labels)), ", ")+". {} removes them.", "missing")
	}
	return nil
}

// Current returns the action's values of the fields that c gives.
func (c Change) Current(a models.Action) (out Change, err error) {
	if c.Name != nil {
		out.Name = &a.Name
	}
	if c.Consequence != nil {
		out.Consequence = &a.Consequence
	}
	if c.Mode != nil {
		out.Mode = &a.Mode
	}
	if c.Labels != nil {
		if out.Labels, err = a.Texts(); out.Labels == nil {
			out.Labels = map[string]models.ActionText{}
		}
	}
	return out, err
}

// updateAction changes an action that is not archived; false if there is none.
func updateAction(ctx context.Context, q *pg.Q, s pg.Scope, id string, c Change, at time.Time) (bool, error) {
	var labels models.JSON
	if c.Labels != nil {
		var err error
		if labels, err = json.Marshal(c.Labels); err != nil {
			return false, err
		}
	}
	return changeAction(ctx, q, s, id, "name = coalesce(@name, name), consequence = coalesce(@consequence, consequence), mode = coalesce(@mode, mode), "+
		"labels = coalesce(cast(@labels as jsonb), labels), updated_at = @at",
		map[string]any{"name": c.Name, "consequence": c.Consequence, "mode": c.Mode, "labels": labels, "at": at})
}

// archiveAction archives an action. It returns false if there is none or it is archived already.
func archiveAction(ctx context.Context, q *pg.Q, s pg.Scope, id string, at time.Time) (bool, error) {
	return changeAction(ctx, q, s, id, "archived_at = @at, updated_at = @at", map[string]any{"at": at})
}

// changeAction changes an action that is not archived; false if there is none.
func changeAction(ctx context.Context, q *pg.Q, s pg.Scope, id, set string, args map[string]any) (bool, error) {
	args["tenant"], args["environment"], args["id"] = s.Tenant, s.Environment, id
	changed, err := pg.Change[models.Action](ctx, q, "tenant_id = @tenant and environment_id = @environment and id = @id and archived_at is null", set, args)
	return len(changed) == 1, err
}

// LockAction locks the row of an action until the transaction ends, so that policy versions are numbered and activated one at a
// time.
func LockAction(ctx context.Context, q *pg.Q, s pg.Scope, id string) (models.Action, error) {
	var a models.Action
	return pg.OrNotFound(a, q.Gorm(ctx).Raw(`select * from actions where tenant_id = ? and environment_id = ? and id = ?
		and archived_at is null for update`, s.Tenant, s.Environment, id).Take(&a).Error)
}

// nextPolicyVersion returns the number for the action's next policy version, from 1. The caller must have locked the
// action.
func nextPolicyVersion(ctx context.Context, q *pg.Q, action string) (int, error) {
	var n int
	err := q.QueryRow(ctx, "select coalesce(max(version), 0) + 1 from policy_versions where action_id = $1", action).Scan(&n)
	return n, err
}

// createPolicyVersion inserts a policy version in draft.
func createPolicyVersion(ctx context.Context, q *pg.Q, v models.PolicyVersion) error {
	return q.Gorm(ctx).Create(&v).Error
}

// PolicyVersion returns one version of an action.
func PolicyVersion(ctx context.Context, q *pg.Q, s pg.Scope, action string, version int) (models.PolicyVersion, error) {
	var v models.PolicyVersion
	return pg.OrNotFound(v, q.Gorm(ctx).Where("tenant_id = ? and environment_id = ? and action_id = ? and version = ?",
		s.Tenant, s.Environment, action, version).Take(&v).Error)
}

// policyVersions lists an action's versions, newest first.
func policyVersions(ctx context.Context, q *pg.Q, s pg.Scope, action string, p pg.Page) ([]models.PolicyVersion, string, error) {
	tx, err := pg.Paginate(pg.Unchecked(q.Gorm(ctx)).Where("tenant_id = ? and environment_id = ? and action_id = ?", s.Tenant, s.Environment, action),
		p, "created_at", "id")
	if err != nil {
		return nil, "", err
	}
	var rows []models.PolicyVersion
	if err := tx.Find(&rows).Error; err != nil {
		return nil, "", err
	}
	rows, next := pg.CutPage(rows, p, func(v models.PolicyVersion) (time.Time, string) { return v.CreatedAt, v.ID })
	return rows, next, nil
}

// activatePolicyVersion makes a draft the action's only active version and retires the previous one. It returns false and
// changes nothing if the version is not a draft. The caller must have locked the action.
func activatePolicyVersion(ctx context.Context, q *pg.Q, s pg.Scope, action string, version int, by string, at time.Time) (bool, error) {
	var draft bool
	if err := q.QueryRow(ctx, `select status = 'draft' from policy_versions
		where tenant_id = $1 and environment_id = $2 and action_id = $3 and version = $4`,
		s.Tenant, s.Environment, action, version).Scan(&draft); err != nil || !draft {
		return false, err
	}
	args := map[string]any{"action": action, "version": version, "at": at, "by": by}
	if _, err := pg.Change[models.PolicyVersion](ctx, q, "action_id = @action and status = 'active'", "status = 'retired', retired_at = @at", args); err != nil {
		return false, err
	}
	active, err := pg.Change[models.PolicyVersion](ctx, q, "action_id = @action and version = @version and status = 'draft'",
		"status = 'active', activated_at = @at, activated_by = @by", args)
	if err != nil || len(active) == 0 {
		return false, err
	}
	return changeAction(ctx, q, s, action, "active_policy_version = @version, updated_at = @at", map[string]any{"version": version, "at": at})
}

// IDs returns the ids of the actions with the keys, by key. Archived and unknown actions are left out.
func IDs(ctx context.Context, q *pg.Q, s pg.Scope, keys []string) (map[string]string, error) {
	var rows []struct{ Key, ID string }
	err := q.Gorm(ctx).Raw(`select key, id from actions where tenant_id = ? and environment_id = ? and key in ? and archived_at is null`,
		s.Tenant, s.Environment, keys).Find(&rows).Error
	out := make(map[string]string, len(rows))
	for _, r := range rows {
		out[r.Key] = r.ID
	}
	return out, err
}
