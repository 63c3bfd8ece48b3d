package team

import (
	"context"
	"time"

	"gorm.io/gorm/clause"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// insertDeputy adds a deputyship.
func insertDeputy(ctx context.Context, q *pg.Q, d models.Deputy) error {
	return q.Gorm(ctx).Create(&d).Error
}

// deputiesOverlap reports whether the absent person has a deputy in a part of the period, or the deputy stands in for a different person in
// a part of it.
func deputiesOverlap(ctx context.Context, q *pg.Q, d models.Deputy) (bool, error) {
	var found bool
	err := q.QueryRow(ctx, `select exists (select from deputies where tenant_id = $1 and environment_id = $2
		and (person_id = $3 or deputy_id = $4) and starts_at < $6 and ends_at > $5 and ends_at > starts_at)`,
		d.TenantID, d.EnvironmentID, d.PersonID, d.DeputyID, d.StartsAt, d.EndsAt).Scan(&found)
	return found, err
}

// endDeputy ends a deputyship of the person that has not ended, and reports whether it did. One that has not begun never begins.
func endDeputy(ctx context.Context, q *pg.Q, s pg.Scope, person, id string, at time.Time) (models.Deputy, bool, error) {
	ended, err := pg.Change[models.Deputy](ctx, q.AsStored(), `tenant_id = @tenant and environment_id = @environment and person_id = @person and id = @id
		and ends_at > @at and ends_at > starts_at`, "ends_at = greatest(starts_at, @at)",
		map[string]any{"tenant": s.Tenant, "environment": s.Environment, "person": person, "id": id, "at": at})
	if err != nil || len(ended) == 0 {
		return models.Deputy{}, false, err
	}
	return ended[0], true, nil
}

// deputiesInForce returns the deputyships of the environment that are in force at a time.
func deputiesInForce(ctx context.Context, q *pg.Q, s pg.Scope, at time.Time) ([]models.Deputy, error) {
	var rows []models.Deputy
	err := q.Gorm(ctx).Where("tenant_id = ? and environment_id = ? and starts_at <= ? and ends_at > ?", s.Tenant, s.Environment, at, at).
		Order("starts_at, id").Find(&rows).Error
	return rows, err
}

// deputiesNotEnded returns the deputyships of the environment that are in force at a time or begin later. The period of one that was withdrawn
// before it began is empty.
func deputiesNotEnded(ctx context.Context, q *pg.Q, s pg.Scope, at time.Time) ([]models.Deputy, error) {
	var rows []models.Deputy
	err := q.Gorm(ctx).Where("tenant_id = ? and environment_id = ? and ends_at > ? and ends_at > starts_at", s.Tenant, s.Environment, at).
		Order("starts_at, id").Find(&rows).Error
	return rows, err
}

// TeamsOf returns the keys of the teams of each actor.
func TeamsOf(ctx context.Context, q *pg.Q, s pg.Scope, actors []string) (map[string][]string, error) {
	var members []models.TeamMember
	if err := q.Gorm(ctx).Where(pg.InScope+" and member in ?", s.Tenant, s.Environment, actors).Find(&members).Error; err != nil {
		return nil, err
	}
	var teams []models.Team
	if err := q.Gorm(ctx).Where(pg.InScope, s.Tenant, s.Environment).Order("key").Find(&teams).Error; err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for _, t := range teams {
		for _, m := range members {
			if m.TeamID == t.ID {
				out[m.Member] = append(out[m.Member], t.Key)
			}
		}
	}
	return out, nil
}

// insertTeam adds a team. A key that the environment has already violates teams_environment_id_key_key.
func insertTeam(ctx context.Context, q *pg.Q, t models.Team) error {
	return q.Gorm(ctx).Create(&t).Error
}

// GetTeam returns one team of the environment.
func GetTeam(ctx context.Context, q *pg.Q, s pg.Scope, id string) (models.Team, error) {
	var row models.Team
	err := q.Gorm(ctx).Where("tenant_id = ? and environment_id = ? and id = ?", s.Tenant, s.Environment, id).Take(&row).Error
	return pg.OrNotFound(row, err)
}

// LockTeam returns one team of the environment and locks it until the transaction ends.
func LockTeam(ctx context.Context, q *pg.Q, s pg.Scope, id string) (models.Team, error) {
	var row models.Team
	err := q.Gorm(ctx).Clauses(clause.Locking{Strength: "UPDATE"}).
		Where("tenant_id = ? and environment_id = ? and id = ?", s.Tenant, s.Environment, id).Take(&row).Error
	return pg.OrNotFound(row, err)
}

// listTeams lists the teams of the environment, newest first.
func listTeams(ctx context.Context, q *pg.Q, s pg.Scope, p pg.Page) ([]models.Team, string, error) {
	tx, err := pg.Paginate(q.Gorm(ctx).Where("tenant_id = ? and environment_id = ?", s.Tenant, s.Environment), p, "created_at", "id")
	if err != nil {
		return nil, "", err
	}
	var rows []models.Team
	if err := tx.Find(&rows).Error; err != nil {
		return nil, "", err
	}
	rows, next := pg.CutPage(rows, p, func(t models.Team) (time.Time, string) { return t.CreatedAt, t.ID })
	return rows, next, nil
}

// ByName returns the teams with the keys and locks them until the transaction ends, so that none is deleted meanwhile.
func ByName(ctx context.Context, q *pg.Q, s pg.Scope, keys []string) ([]models.Team, error) {
	var rows []models.Team
	err := q.Gorm(ctx).Clauses(clause.Locking{Strength: "SHARE"}).
		Where("tenant_id = ? and environment_id = ? and key in ?", s.Tenant, s.Environment, keys).Order("key").Find(&rows).Error
	return rows, err
}

// renameTeam changes the name of a team and reports whether it did.
func renameTeam(ctx context.Context, q *pg.Q, s pg.Scope, id, name string) (bool, error) {
	n, err := q.Exec(ctx, "update teams set name = $4 where tenant_id = $1 and environment_id = $2 and id = $3 and name <> $4",
		s.Tenant, s.Environment, id, name)
	return n == 1, err
}

func deleteTeam(ctx context.Context, q *pg.Q, s pg.Scope, id string) error {
	if _, err := pg.Remove[models.TeamMember](ctx, q, pg.InScope+" and team_id = ?", s.Tenant, s.Environment, id); err != nil {
		return err
	}
	_, err := pg.Remove[models.Team](ctx, q, pg.InScope+" and id = ?", s.Tenant, s.Environment, id)
	return err
}

// MembersOfTeam returns the members of teams, by team and in the order of their actors.
func MembersOfTeam(ctx context.Context, q *pg.Q, s pg.Scope, teams ...string) ([]models.TeamMember, error) {
	var rows []models.TeamMember
	err := q.Gorm(ctx).Where("tenant_id = ? and environment_id = ? and team_id in ?", s.Tenant, s.Environment, teams).
		Order("team_id, member").Find(&rows).Error
	return rows, err
}

// addTeamMember adds a member. It returns false if the team has it already.
func addTeamMember(ctx context.Context, q *pg.Q, m models.TeamMember) (bool, error) {
	res := q.Gorm(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&m)
	return res.RowsAffected == 1, res.Error
}

// removeTeamMember removes a member. It returns false if the team does not have it.
func removeTeamMember(ctx context.Context, q *pg.Q, s pg.Scope, team, member string) (bool, error) {
	removed, err := pg.Remove[models.TeamMember](ctx, q, pg.InScope+" and team_id = ? and member = ?", s.Tenant, s.Environment, team, member)
	return len(removed) == 1, err
}

// ReviewersOfTeams returns those of the actors that may review in the environment at a time: credentials with the permission review that
// are neither revoked nor expired, and people who are reviewers.
func ReviewersOfTeams(ctx context.Context, q *pg.Q, s pg.Scope, actors []string, at time.Time) ([]string, error) {
	var out []string
	err := q.Gorm(ctx).Raw(`select 'credential:' || c.id from credentials c where c.tenant_id = @tenant and c.environment_id = @environment
			and 'credential:' || c.id in @actors and c.revoked_at is null and (c.ends_at is null or c.ends_at > @at) and c.former_principal is null
			and `+pg.NotEnded("credentials", "c")+` and c.scope in ('server', 'admin') and (c.permissions is null or 'review' = any(c.permissions))
		union all select 'person:' || p.id from people p join person_roles r on r.person_id = p.id
			where p.tenant_id = @tenant and 'person:' || p.id in @actors and p.revoked_at is null
			and `+pg.NotEnded("people", "p")+` and `+pg.NotEnded("person_roles", "r")+`
			and r.environment_id = @environment and r.role = 'reviewer'`,
		map[string]any{"tenant": s.Tenant, "environment": s.Environment, "actors": actors, "at": at}).Find(&out).Error
	return out, err
}

// UsesOfTeam describes what names a team: active policy versions of actions that are not archived, and pending holds, which could not be approved without it.
func UsesOfTeam(ctx context.Context, q *pg.Q, s pg.Scope, key string) (policies, holds int, err error) {
	err = q.QueryRow(ctx, `select (select count(*) from policy_versions v join actions a on a.id = v.action_id and a.archived_at is null
			where v.tenant_id = $1 and v.environment_id = $2 and v.status = 'active' and jsonb_path_exists(requirements, '$.** ? (@.group == $key || @.fallback == $key)', jsonb_build_object('key', $3::text))),
		(select count(*) from holds h join hold_teams t on t.authorization_id = h.authorization_id and t.environment_id = h.environment_id
			where h.tenant_id = $1 and h.environment_id = $2 and h.status = 'pending' and $3 in (t.team, t.escalate_team, t.fallback_team))`,
		s.Tenant, s.Environment, key).Scan(&policies, &holds)
	return policies, holds, err
}

// Named is an actor with the name that its colleagues know: of a person, or of a key, which may be empty.
type Named struct{ Actor, Name string }

// candidatesForTeam returns at most limit actors that may review in the environment at a time, people first, each in the order of names.
func candidatesForTeam(ctx context.Context, q *pg.Q, s pg.Scope, at time.Time, limit int) ([]Named, error) {
	var out []Named
	err := q.Gorm(ctx).Raw(`select actor, name from (
		select 0 as place, 'person:' || p.id as actor, p.name from people p join person_roles r on r.person_id = p.id
			where p.tenant_id = @tenant and p.revoked_at is null and r.environment_id = @environment and r.role = 'reviewer'
		union all select 1, 'credential:' || c.id, coalesce(c.name, '') from credentials c where c.tenant_id = @tenant
			and c.environment_id = @environment and c.revoked_at is null and (c.ends_at is null or c.ends_at > @at) and c.former_principal is null
			and `+pg.NotEnded("credentials", "c")+` and c.scope in ('server', 'admin') and (c.permissions is null or 'review' = any(c.permissions))
		) c order by place, lower(name), actor limit @limit`,
		map[string]any{"tenant": s.Tenant, "environment": s.Environment, "at": at, "limit": limit}).Find(&out).Error
	return out, err
}

// teamMemberNames returns the names of actors, people who left and revoked keys included.
func teamMemberNames(ctx context.Context, q *pg.Q, s pg.Scope, actors []string) ([]Named, error) {
	var out []Named
	err := q.Gorm(ctx).Raw(`select 'person:' || p.id as actor, p.name from people p where p.tenant_id = @tenant and 'person:' || p.id in @actors
		union all select 'credential:' || c.id, coalesce(c.name, '') from credentials c
			where c.tenant_id = @tenant and c.environment_id = @environment and 'credential:' || c.id in @actors`,
		map[string]any{"tenant": s.Tenant, "environment": s.Environment, "actors": actors}).Find(&out).Error
	return out, err
}

// namesOfTeams returns the names of all teams of the environment, by key.
func namesOfTeams(ctx context.Context, q *pg.Q, s pg.Scope) (map[string]string, error) {
	rows, err := q.Query(ctx, "select key, name from teams where tenant_id = $1 and environment_id = $2", s.Tenant, s.Environment)
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

// Requirement is one requirement of an active policy version or of one of its rules.
type Requirement struct {
	Team         string
	ActionID     string
	Action       string // key
	Approvals    int
	EscalateTeam string // empty for none
	AfterSeconds int64  // of the escalation
}

// requirementsWithTeams returns what the active policy versions of the environment require of teams. A policy and a rule that require the same
// are one.
func requirementsWithTeams(ctx context.Context, q *pg.Q, s pg.Scope) ([]Requirement, error) {
	var out []Requirement
	err := q.Gorm(ctx).Raw(`select distinct e->>'group' as team, a.id as action_id, a.key as action, coalesce((e->>'approvals')::int, 1) as approvals,
			coalesce(e->'escalate'->>'group', '') as escalate_team, coalesce((e->'escalate'->>'after_seconds')::bigint, 0) as after_seconds
		from policy_versions v join actions a on a.id = v.action_id
		cross join lateral (select jsonb_path_query(v.requirements, '$.**.review[*]') as e
			union all select jsonb_path_query(v.requirements, '$.**.review.steps[*].entries[*]')) listed
		where e->>'group' is not null and v.tenant_id = ? and v.environment_id = ? and v.status = 'active' and a.archived_at is null
		order by 1, 3, 4, 6`, s.Tenant, s.Environment).Find(&out).Error
	return out, err
}

// holdsOfTeam counts the pending holds that require a team, and those that were escalated to it.
type holdsOfTeam struct {
	Team               string
	Waiting, Escalated int64
}

// pendingHoldsOfTeam counts the holds that wait at a time, by team.
func pendingHoldsOfTeam(ctx context.Context, q *pg.Q, s pg.Scope, at time.Time) ([]holdsOfTeam, error) {
	var out []holdsOfTeam
	err := q.Gorm(ctx).Raw(`with waiting as materialized (select t.* from hold_teams t join holds h on h.authorization_id = t.authorization_id and h.environment_id = t.environment_id
			where h.tenant_id = @tenant and h.environment_id = @environment and h.status = 'pending' and h.due_at > @at)
		select team, sum(waiting) as waiting, sum(escalated) as escalated from (
			select team, 1 as waiting, 0 as escalated from waiting
			union all select escalate_team, 0, 1 from waiting where escalate_at <= @at or escalated_at <= @at) w group by team`,
		map[string]any{"tenant": s.Tenant, "environment": s.Environment, "at": at}).Find(&out).Error
	return out, err
}
