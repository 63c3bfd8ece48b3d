package store

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/models"
)

// Wanted returns what holds require of teams, by hold and team.
func (q Holds) Wanted(ctx context.Context, s Scope, holds ...string) ([]models.HoldTeam, error) {
	var rows []models.HoldTeam
	err := q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and authorization_id in ?", s.Tenant, s.Environment, holds).
		Order("authorization_id, team").Find(&rows).Error
	return rows, err
}

// Approver is an actor who approved a hold and is in good standing. Absent is the person for whom the actor was deputy at the time
// of the approval, if that person is in good standing; empty if there is none.
type Approver struct {
	AuthorizationID string
	Reviewer        string // the actor
	Principal       string
	Absent          string // such as person:prs_...
	AbsentPrincipal string // whom the absent person counts as
}

// deputyAt selects the person in whose place the actor of the alias r could approve at the time r.at.
const deputyAt = `(select 'person:' || d.person_id as absent, coalesce(p.principal, 'person:' || p.id) as absent_principal from deputies d join people p on p.id = d.person_id and p.revoked_at is null
	join person_roles pr on pr.person_id = p.id and pr.environment_id = d.environment_id and pr.role = 'reviewer'
	where d.tenant_id = h.tenant_id and d.environment_id = h.environment_id and 'person:' || d.deputy_id = r.reviewer
	and d.starts_at <= r.at and d.ends_at > r.at order by d.starts_at limit 1)`

// Approvers returns who approved the holds and counts at a time, in the order of the approvals.
func (q Holds) Approvers(ctx context.Context, s Scope, at time.Time, holds ...string) ([]Approver, error) {
	var rows []Approver
	err := q.gorm(ctx).Raw(`select r.authorization_id, r.reviewer, coalesce(r.principal, r.reviewer) as principal, coalesce(d.absent, '') as absent,
		coalesce(d.absent_principal, '') as absent_principal
		from reviews r join holds h on h.authorization_id = r.authorization_id and h.environment_id = r.environment_id left join lateral `+deputyAt+` d on true
		where h.tenant_id = ? and h.environment_id = ? and h.authorization_id in ? and r.resolution = 'approve'
		and `+strings.ReplaceAll(inGoodStanding, "@at", "?")+` order by r.at, r.reviewer`, s.Tenant, s.Environment, holds, at).Find(&rows).Error
	return rows, err
}

// Standing returns an actor as an approver at a time, whether or not the actor has approved anything.
func (q Holds) Standing(ctx context.Context, s Scope, actor string, at time.Time) (Approver, error) {
	principal, err := q.Principals().Get(ctx, s, actor)
	if err != nil {
		return Approver{}, err
	}
	out := Approver{Reviewer: actor, Principal: principal}
	err = q.queryRow(ctx, `select coalesce(d.absent, ''), coalesce(d.absent_principal, '') from (select $1::text as tenant_id, $2::text as environment_id) h
		cross join (select $3::text as reviewer, $4::timestamptz as at) r left join lateral `+deputyAt+` d on true`, s.Tenant, s.Environment, actor, at).
		Scan(&out.Absent, &out.AbsentPrincipal)
	return out, err
}

// TeamsOf returns the keys of the teams of each actor.
func (q Teams) TeamsOf(ctx context.Context, s Scope, actors []string) (map[string][]string, error) {
	rows, err := q.query(ctx, `select m.member, t.key from team_members m join teams t on t.id = m.team_id
		where m.tenant_id = $1 and m.environment_id = $2 and m.member = any($3) order by t.key`, s.Tenant, s.Environment, actors)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[string][]string{}
	for rows.Next() {
		var member, key string
		if err := rows.Scan(&member, &key); err != nil {
			return nil, err
		}
		out[member] = append(out[member], key)
	}
	return out, rows.Err()
}

// Escalate records the escalations of a pending hold that are due, and returns their rows.
func (q Holds) Escalate(ctx context.Context, h models.Hold, at time.Time) ([]models.HoldTeam, error) {
	var rows []models.HoldTeam
	err := q.gorm(ctx).Raw(`update hold_teams t set escalated_at = ? from holds h
		where h.authorization_id = t.authorization_id and h.environment_id = ? and t.environment_id = ? and t.authorization_id = ? and h.status = 'pending' and h.due_at > ?
		and t.escalate_at <= ? and t.escalated_at is null returning t.*`, at, h.EnvironmentID, h.EnvironmentID, h.AuthorizationID, at, at).Find(&rows).Error
	return rows, err
}

// NextEscalation returns when the next escalation of a hold is due; nil if none is left.
func (q Holds) NextEscalation(ctx context.Context, h models.Hold) (*time.Time, error) {
	var at *time.Time
	err := q.queryRow(ctx, `select min(escalate_at) from hold_teams
		where authorization_id = $1 and environment_id = $2 and escalated_at is null`, h.AuthorizationID, h.EnvironmentID).Scan(&at)
	return at, err
}

// queueHoldTeam adds what a new hold requires of a team.
func queueHoldTeam(b *pgx.Batch, t models.HoldTeam) {
	b.Queue(`insert into hold_teams (authorization_id, tenant_id, environment_id, team, approvals, escalate_team, escalate_at)
		values ($1, $2, $3, $4, $5, $6, $7)`, t.AuthorizationID, t.TenantID, t.EnvironmentID, t.Team, t.Approvals, t.EscalateTeam, t.EscalateAt)
}
