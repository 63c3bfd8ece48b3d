package store

import (
	"context"
	"time"
)

// Named is an actor with the name that its colleagues know: of a person, or of a key, which may be empty.
type Named struct{ Actor, Name string }

// Candidates returns at most limit actors that may review in the environment at a time, people first, each in the order of names.
func (q Teams) Candidates(ctx context.Context, s Scope, at time.Time, limit int) ([]Named, error) {
	var out []Named
	err := q.gorm(ctx).Raw(`select actor, name from (
		select 0 as place, 'person:' || p.id as actor, p.name from people p join person_roles r on r.person_id = p.id
			where p.tenant_id = @tenant and p.revoked_at is null and r.environment_id = @environment and r.role = 'reviewer'
		union all select 1, 'credential:' || c.id, coalesce(c.name, '') from credentials c where c.tenant_id = @tenant
			and c.environment_id = @environment and c.revoked_at is null and (c.ends_at is null or c.ends_at > @at) and c.former_principal is null
			and c.scope in ('server', 'admin') and (c.permissions is null or 'review' = any(c.permissions))
		) c order by place, lower(name), actor limit @limit`,
		map[string]any{"tenant": s.Tenant, "environment": s.Environment, "at": at, "limit": limit}).Find(&out).Error
	return out, err
}

// MemberNames returns the names of actors, people who left and revoked keys included.
func (q Teams) MemberNames(ctx context.Context, s Scope, actors []string) ([]Named, error) {
	var out []Named
	err := q.gorm(ctx).Raw(`select 'person:' || p.id as actor, p.name from people p where p.tenant_id = @tenant and 'person:' || p.id in @actors
		union all select 'credential:' || c.id, coalesce(c.name, '') from credentials c
			where c.tenant_id = @tenant and c.environment_id = @environment and 'credential:' || c.id in @actors`,
		map[string]any{"tenant": s.Tenant, "environment": s.Environment, "actors": actors}).Find(&out).Error
	return out, err
}

// Names returns the names of all teams of the environment, by key.
func (q Teams) Names(ctx context.Context, s Scope) (map[string]string, error) {
	rows, err := q.query(ctx, "select key, name from teams where tenant_id = $1 and environment_id = $2", s.Tenant, s.Environment)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[string]string{}
	for rows.Next() {
		var key, name string
		if err := rows.Scan(&key, &name); err != nil {
			return nil, err
		}
		out[key] = name
	}
	return out, rows.Err()
}

// TeamRequirement is one requirement of an active policy version or of one of its rules.
type TeamRequirement struct {
	Team         string
	ActionID     string
	Action       string // key
	Approvals    int
	EscalateTeam string // empty for none
	AfterSeconds int64  // of the escalation
}

// Requirements returns what the active policy versions of the environment require of teams. A policy and a rule that require the same
// are one.
func (q Teams) Requirements(ctx context.Context, s Scope) ([]TeamRequirement, error) {
	var out []TeamRequirement
	err := q.gorm(ctx).Raw(`select distinct e->>'group' as team, a.id as action_id, a.key as action, (e->>'approvals')::int as approvals,
			coalesce(e->'escalate'->>'group', '') as escalate_team, coalesce((e->'escalate'->>'after_seconds')::bigint, 0) as after_seconds
		from policy_versions v join actions a on a.id = v.action_id
		cross join lateral jsonb_path_query(v.requirements, '$.**.review[*]') e
		where v.tenant_id = ? and v.environment_id = ? and v.status = 'active' and a.archived_at is null
		order by 1, 3, 4, 6`, s.Tenant, s.Environment).Find(&out).Error
	return out, err
}

// TeamHolds counts the pending holds that require a team, and those that were escalated to it.
type TeamHolds struct {
	Team               string
	Waiting, Escalated int64
}

// PendingHolds counts the holds that wait at a time, by team.
func (q Teams) PendingHolds(ctx context.Context, s Scope, at time.Time) ([]TeamHolds, error) {
	var out []TeamHolds
	err := q.gorm(ctx).Raw(`with waiting as materialized (select t.* from hold_teams t join holds h on h.authorization_id = t.authorization_id and h.environment_id = t.environment_id
			where h.tenant_id = @tenant and h.environment_id = @environment and h.status = 'pending' and h.due_at > @at)
		select team, sum(waiting) as waiting, sum(escalated) as escalated from (
			select team, 1 as waiting, 0 as escalated from waiting
			union all select escalate_team, 0, 1 from waiting where escalate_at <= @at) w group by team`,
		map[string]any{"tenant": s.Tenant, "environment": s.Environment, "at": at}).Find(&out).Error
	return out, err
}
