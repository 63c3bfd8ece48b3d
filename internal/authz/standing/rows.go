package standing

import (
	"context"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// stored is a standing approval with what its view reads besides.
type stored struct {
	models.StandingApproval
	Subject    string // the relying party's id
	ActionName string
	Over       *string // why it allows nothing any more, although it is active; nil otherwise
	Waits      bool    // its challenge or hold is open
}

// TableName makes GORM check the MAC.
func (stored) TableName() string { return "standing_approvals" }

// over is the reason for which an active standing approval r of the environment @here allows nothing at the time @at, or null. hold.StillApproved says
// the rest.
var over = `case
	when r.ends_at <= cast(@at as timestamptz) then '` + ReasonExpired + `'
	when exists (select from actions a where a.environment_id = @here and a.id = r.action_id and a.archived_at is not null) then '` + reasonArchived + `'
	when not exists (select from actions a where a.environment_id = @here and a.id = r.action_id and a.active_policy_version = r.policy_version) then '` + reasonVersion + `'
	when not ` + subjectrow.IsActive("r", "@here") + ` then '` + reasonSubject + `'
	when r.passkey_id is not null and not exists (select from passkeys k where k.environment_id = @here and k.id = r.passkey_id and k.revoked_at is null
		and @key_not_ended) then '` + reasonPasskey + `' end`

// overOf is over of rows that a statement names otherwise, in the environment @environment or, across environments, in that of the row.
func overOf(row, here string) string {
	return "(" + strings.NewReplacer("@here", here, "r.", row+".", "@key_not_ended", pg.NotEnded("passkeys", "k")).Replace(over) + ")"
}

// here is the environment of a statement.
const here = "@environment"

// waits is the condition that the challenge or the hold of a standing approval r is open at the time @at.
const waits = `(r.status = 'pending' and r.ends_at > cast(@at as timestamptz) and (
	exists (select from challenges c where c.environment_id = @environment and c.authorization_id = r.authorization_id and c.status = 'open' and c.expires_at > cast(@at as timestamptz))
	or exists (select from holds h where h.environment_id = @environment and h.authorization_id = r.authorization_id and h.status = 'pending' and h.due_at > cast(@at as timestamptz))))`

func selected() string {
	return "select r.*, s.external_id as subject, a.name as action_name, case when r.status = 'active' then " + overOf("r", here) + " end as over, " + waits + ` as waits
	from standing_approvals r` + subjectrow.Join("r") + `
	join actions a on a.environment_id = @environment and a.id = r.action_id
	where r.tenant_id = @tenant and r.environment_id = @environment and `
}

func get(ctx context.Context, q *pg.Q, s pg.Scope, id string, at time.Time) (stored, error) {
	var row stored
	return pg.OrNotFound(row, q.Gorm(ctx).Raw(selected()+"r.id = @id and "+table.NotEnded("r"),
		map[string]any{"tenant": s.Tenant, "environment": s.Environment, "id": id, "at": at}).Take(&row).Error)
}

// list returns a page, newest first; an empty subject is all.
func list(ctx context.Context, q *pg.Q, s pg.Scope, uid string, at time.Time, p pg.Page) ([]stored, string, error) {
	args := map[string]any{"tenant": s.Tenant, "environment": s.Environment, "uid": uid, "at": at, "limit": p.Limit + 1}
	after := ""
	if p.After != "" {
		created, id, err := pg.ParseCursor(p.After)
		if err != nil {
			return nil, "", err
		}
		after, args["created"], args["after"] = " and (r.created_at, r.id) < (@created, @after)", created, id
	}
	if uid != "" {
		after += " and r.subject_uid = @uid"
	}
	var rows []stored
	err := pg.Unchecked(q.Gorm(ctx)).Raw(selected()+table.NotEnded("r")+after+" order by r.created_at desc, r.id desc limit @limit", args).Find(&rows).Error
	if err != nil {
		return nil, "", err
	}
	rows, next := pg.CutPage(rows, p, func(r stored) (time.Time, string) { return r.CreatedAt, r.ID })
	return rows, next, nil
}

// inForceOf returns the standing approvals of a subject that are in force at a time, newest first.
func inForceOf(ctx context.Context, q *pg.Q, s pg.Scope, uid string, at time.Time) ([]stored, error) {
	var rows []stored
	err := q.Gorm(ctx).Raw("select * from ("+selected()+table.NotEnded("r")+" and r.subject_uid = @uid and r.status = 'active') x where x.over is null order by x.created_at desc, x.id desc limit @limit",
		map[string]any{"tenant": s.Tenant, "environment": s.Environment, "uid": uid, "at": at, "limit": MaxInForce}).Find(&rows).Error
	return rows, err
}

// Wanted selects the standing approvals that may allow a request.
type Wanted struct {
	SubjectUID, Action string // ids
	PolicyVersion      int
	Mode               models.ActionMode
	Audience, Type     string // Type is that of the resource
	At                 time.Time
}

// Candidates returns the standing approvals that may allow a request, those that end first in front. Their terms are not compared.
func Candidates(ctx context.Context, q *pg.Q, s pg.Scope, w Wanted) ([]models.StandingApproval, error) {
	var rows []models.StandingApproval
	err := q.Gorm(ctx).Where(`tenant_id = @tenant and environment_id = @environment and subject_uid = @uid and status = 'active' and action_id = @action
			and policy_version = @version and mode = @mode and audience = @audience and resource_type = @type and uses < max_uses and `+overOf("standing_approvals", here)+" is null",
		map[string]any{
			"tenant": s.Tenant, "environment": s.Environment, "uid": w.SubjectUID, "action": w.Action, "version": w.PolicyVersion, "mode": string(w.Mode),
			"audience": w.Audience, "type": w.Type, "at": w.At,
		}).Order("ends_at, id").Find(&rows).Error
	return rows, err
}

// InForce counts the standing approvals of a subject that are in force or wait for their approval at a time.
func InForce(ctx context.Context, q *pg.Q, s pg.Scope, uid string, at time.Time) (int, error) {
	var rows []struct{ N int }
	err := q.Gorm(ctx).Raw("select count(*) as n from standing_approvals r where r.tenant_id = @tenant and r.environment_id = @environment and r.subject_uid = @uid and (r.status = 'active' and "+
		overOf("r", here)+" is null or "+waits+")", map[string]any{"tenant": s.Tenant, "environment": s.Environment, "uid": uid, "at": at}).Find(&rows).Error
	if err != nil {
		return 0, err
	}
	return rows[0].N, nil
}

// Create stores a standing approval that waits for its approval, in the caller's transaction.
func Create(ctx context.Context, q *pg.Q, r models.StandingApproval) error {
	return q.Gorm(ctx).Create(&r).Error
}

// Pending returns a standing approval that a decision asks for, whatever its status, and locks it until the transaction ends.
func Pending(ctx context.Context, q *pg.Q, s pg.Scope, id string) (models.StandingApproval, error) {
	rows, err := pg.Change[models.StandingApproval](ctx, q, "tenant_id = @tenant and environment_id = @environment and id = @id", "revision = revision",
		map[string]any{"tenant": s.Tenant, "environment": s.Environment, "id": id})
	if err == nil && len(rows) == 0 {
		err = pg.ErrNotFound
	}
	if err != nil {
		return models.StandingApproval{}, err
	}
	return rows[0], nil
}

// LockTimeout bounds the wait for other uses in the caller's transaction.
func LockTimeout(ctx context.Context, q *pg.Q, wait time.Duration) error {
	_, err := q.Exec(ctx, "select set_config('lock_timeout', $1, true)", wait.String())
	return err
}

// ended is a standing approval that what it rests on has ended.
type ended struct{ Tenant, Environment, ID, Reason string }

// overIn returns at most limit active standing approvals of any environment that allow nothing any more.
func overIn(ctx context.Context, q *pg.Q, at time.Time, limit int) ([]ended, error) {
	var rows []ended
	err := q.Gorm(ctx).Raw("select x.* from (select r.tenant_id as tenant, r.environment_id as environment, r.id, "+overOf("r", "r.environment_id")+` as reason
		from standing_approvals r where r.status = 'active') x where x.reason is not null limit @limit`, map[string]any{"at": at, "limit": limit}).Find(&rows).Error
	return rows, err
}

// reviewed returns at most limit active standing approvals of any environment that reviewers gave, by id, after one.
func reviewed(ctx context.Context, q *pg.Q, after string, limit int) ([]models.StandingApproval, error) {
	var rows []models.StandingApproval
	err := pg.Unchecked(q.Gorm(ctx)).Where("status = 'active' and hold_id is not null and id > ?", after).Order("id").Limit(limit).Find(&rows).Error
	return rows, err
}
