package store

import (
	"context"
	"time"

	"gorm.io/gorm/clause"

	"github.com/countersign-dev/countersign/models"
)

// Teams stores the teams of reviewers of an environment.
type Teams struct{ *Q }

// Teams returns the queries of the aggregate.
func (q *Q) Teams() Teams { return Teams{q} }

// Insert adds a team. A key that the environment has already violates teams_environment_id_key_key.
func (q Teams) Insert(ctx context.Context, t models.Team) error {
	return q.gorm(ctx).Create(&t).Error
}

// Get returns one team of the environment.
func (q Teams) Get(ctx context.Context, s Scope, id string) (models.Team, error) {
	var row models.Team
	err := q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and id = ?", s.Tenant, s.Environment, id).Take(&row).Error
	return orNotFound(row, err)
}

// Lock returns one team of the environment and locks it until the transaction ends.
func (q Teams) Lock(ctx context.Context, s Scope, id string) (models.Team, error) {
	var row models.Team
	err := q.gorm(ctx).Clauses(clause.Locking{Strength: "UPDATE"}).
		Where("tenant_id = ? and environment_id = ? and id = ?", s.Tenant, s.Environment, id).Take(&row).Error
	return orNotFound(row, err)
}

// List lists the teams of the environment, newest first.
func (q Teams) List(ctx context.Context, s Scope, p Page) ([]models.Team, string, error) {
	tx, err := paginate(q.gorm(ctx).Where("tenant_id = ? and environment_id = ?", s.Tenant, s.Environment), p, "created_at", "id")
	if err != nil {
		return nil, "", err
	}
	var rows []models.Team
	if err := tx.Find(&rows).Error; err != nil {
		return nil, "", err
	}
	rows, next := cutPage(rows, p, func(t models.Team) (time.Time, string) { return t.CreatedAt, t.ID })
	return rows, next, nil
}

// Named returns the teams with the keys and locks them until the transaction ends, so that none is deleted meanwhile.
func (q Teams) Named(ctx context.Context, s Scope, keys []string) ([]models.Team, error) {
	var rows []models.Team
	err := q.gorm(ctx).Clauses(clause.Locking{Strength: "SHARE"}).
		Where("tenant_id = ? and environment_id = ? and key in ?", s.Tenant, s.Environment, keys).Order("key").Find(&rows).Error
	return rows, err
}

// Rename changes the name of a team and reports whether it did.
func (q Teams) Rename(ctx context.Context, s Scope, id, name string) (bool, error) {
	n, err := q.exec(ctx, "update teams set name = $4 where tenant_id = $1 and environment_id = $2 and id = $3 and name <> $4",
		s.Tenant, s.Environment, id, name)
	return n == 1, err
}

// Delete deletes a team with its members.
func (q Teams) Delete(ctx context.Context, s Scope, id string) error {
	_, err := q.exec(ctx, "delete from teams where tenant_id = $1 and environment_id = $2 and id = $3", s.Tenant, s.Environment, id)
	return err
}

// Members returns the members of teams, by team and in the order of their actors.
func (q Teams) Members(ctx context.Context, s Scope, teams ...string) ([]models.TeamMember, error) {
	var rows []models.TeamMember
	err := q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and team_id in ?", s.Tenant, s.Environment, teams).
		Order("team_id, member").Find(&rows).Error
	return rows, err
}

// AddMember adds a member. It returns false if the team has it already.
func (q Teams) AddMember(ctx context.Context, m models.TeamMember) (bool, error) {
	res := q.gorm(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&m)
	return res.RowsAffected == 1, res.Error
}

// RemoveMember removes a member. It returns false if the team does not have it.
func (q Teams) RemoveMember(ctx context.Context, s Scope, team, member string) (bool, error) {
	n, err := q.exec(ctx, "delete from team_members where tenant_id = $1 and environment_id = $2 and team_id = $3 and member = $4",
		s.Tenant, s.Environment, team, member)
	return n == 1, err
}

// Reviewers returns those of the actors that may review in the environment at a time: credentials with the permission review that
// are neither revoked nor expired, and people who are reviewers.
func (q Teams) Reviewers(ctx context.Context, s Scope, actors []string, at time.Time) ([]string, error) {
	var out []string
	err := q.gorm(ctx).Raw(`select 'credential:' || c.id from credentials c where c.tenant_id = @tenant and c.environment_id = @environment
			and 'credential:' || c.id in @actors and c.revoked_at is null and (c.ends_at is null or c.ends_at > @at) and c.former_principal is null
			and c.scope in ('server', 'admin') and (c.permissions is null or 'review' = any(c.permissions))
		union all select 'person:' || p.id from people p join person_roles r on r.person_id = p.id
			where p.tenant_id = @tenant and 'person:' || p.id in @actors and p.revoked_at is null
			and r.environment_id = @environment and r.role = 'reviewer'`,
		map[string]any{"tenant": s.Tenant, "environment": s.Environment, "actors": actors, "at": at}).Find(&out).Error
	return out, err
}

// Uses describes what names a team: active policy versions of actions that are not archived, and pending holds, which could not be approved without it.
func (q Teams) Uses(ctx context.Context, s Scope, key string) (policies, holds int, err error) {
	err = q.queryRow(ctx, `select (select count(*) from policy_versions v join actions a on a.id = v.action_id and a.archived_at is null
			where v.tenant_id = $1 and v.environment_id = $2 and v.status = 'active' and jsonb_path_exists(requirements, '$.**.group ? (@ == $key)', jsonb_build_object('key', $3::text))),
		(select count(*) from holds h join hold_teams t on t.authorization_id = h.authorization_id and t.environment_id = h.environment_id
			where h.tenant_id = $1 and h.environment_id = $2 and h.status = 'pending' and $3 in (t.team, t.escalate_team))`,
		s.Tenant, s.Environment, key).Scan(&policies, &holds)
	return policies, holds, err
}
