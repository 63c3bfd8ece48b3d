package directory

import (
	"context"
	"time"

	"gorm.io/gorm/clause"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// getDirectory returns the directory of a tenant.
func getDirectory(ctx context.Context, q *pg.Q, tenant string) (models.Directory, error) {
	var row models.Directory
	return pg.OrNotFound(row, q.Gorm(ctx).Where("tenant_id = ?", tenant).Take(&row).Error)
}

func createDirectory(ctx context.Context, q *pg.Q, d models.Directory) error {
	return q.Gorm(ctx).Create(&d).Error
}

func changeDirectory(ctx context.Context, q *pg.Q, d models.Directory) error {
	_, err := pg.Change[models.Directory](ctx, q, "tenant_id = @TenantID",
		"identity_provider_id = @IdentityProviderID, grants = @Grants, required = @Required, updated_at = @UpdatedAt", d)
	return err
}

// deleteDirectory deletes a directory with its tokens. Users and groups stay, so that one who returns is known. It returns false if there is none.
func deleteDirectory(ctx context.Context, q *pg.Q, tenant string) (bool, error) {
	if _, err := pg.Remove[models.DirectoryToken](ctx, q, "tenant_id = ?", tenant); err != nil {
		return false, err
	}
	removed, err := pg.Remove[models.Directory](ctx, q, "tenant_id = ?", tenant)
	return len(removed) == 1, err
}

// providerOf returns an identity provider of the tenant, removed or not.
func providerOf(ctx context.Context, q *pg.Q, tenant, id string) (models.IdentityProvider, error) {
	var row models.IdentityProvider
	return pg.OrNotFound(row, q.Gorm(ctx).Where("tenant_id = ? and id = ?", tenant, id).Take(&row).Error)
}

func createToken(ctx context.Context, q *pg.Q, t models.DirectoryToken) error {
	return q.Gorm(ctx).Create(&t).Error
}

// tokenByMAC returns the token with one of the MACs, expired ones too.
func tokenByMAC(ctx context.Context, q *pg.Q, macs [][]byte) (models.DirectoryToken, error) {
	var row models.DirectoryToken
	return pg.OrNotFound(row, q.Gorm(ctx).Where("mac in ?", macs).Take(&row).Error)
}

func touchToken(ctx context.Context, q *pg.Q, id string, at time.Time) error {
	_, err := q.Exec(ctx, "update directory_tokens set last_used_at = $2 where id = $1", id, at)
	return err
}

// listTokens returns the tokens of a tenant, the newest first.
func listTokens(ctx context.Context, q *pg.Q, tenant string) ([]models.DirectoryToken, error) {
	var rows []models.DirectoryToken
	err := pg.Unchecked(q.Gorm(ctx)).Where("tenant_id = ?", tenant).Order("created_at desc, id desc").Find(&rows).Error
	return rows, err
}

// expireTokens has the tokens of a tenant end at a time, unless they end before.
func expireTokens(ctx context.Context, q *pg.Q, tenant string, at time.Time) error {
	_, err := pg.Change[models.DirectoryToken](ctx, q, "tenant_id = @tenant and (expires_at is null or expires_at > @at)", "expires_at = @at",
		map[string]any{"tenant": tenant, "at": at})
	return err
}

// deleteToken deletes a token. It returns false if the tenant has none with the id.
func deleteToken(ctx context.Context, q *pg.Q, tenant, id string) (bool, error) {
	removed, err := pg.Remove[models.DirectoryToken](ctx, q, "tenant_id = ? and id = ?", tenant, id)
	return len(removed) == 1, err
}

// getUser returns a user that is not deleted; lock locks the row until the transaction ends.
func getUser(ctx context.Context, q *pg.Q, tenant, id string, lock bool) (models.DirectoryUser, error) {
	var row models.DirectoryUser
	tx := q.Gorm(ctx).Where("tenant_id = ? and id = ? and deleted_at is null", tenant, id)
	if lock {
		tx = tx.Clauses(clause.Locking{Strength: "UPDATE"})
	}
	return pg.OrNotFound(row, tx.Take(&row).Error)
}

// createUser inserts a user. A name or an external id in use violates an index.
func createUser(ctx context.Context, q *pg.Q, u models.DirectoryUser) error {
	return q.Gorm(ctx).Create(&u).Error
}

func changeUser(ctx context.Context, q *pg.Q, u models.DirectoryUser) error {
	_, err := pg.Change[models.DirectoryUser](ctx, q, "tenant_id = @TenantID and id = @ID", `external_id = @ExternalID, user_name = @UserName, attributes = @Attributes,
		active = @Active, manager = @Manager, person_id = @PersonID, linked = @Linked, revision = @Revision, updated_at = @UpdatedAt, deleted_at = @DeletedAt`, u)
	return err
}

// earlierUser returns the newest deleted user who had the identity of a new one and has been a person: the external id, or without one the name.
func earlierUser(ctx context.Context, q *pg.Q, u models.DirectoryUser) (models.DirectoryUser, error) {
	tx := q.Gorm(ctx).Where("tenant_id = ? and deleted_at is not null and person_id is not null", u.TenantID)
	if u.ExternalID != nil {
		tx = tx.Where("external_id = ?", *u.ExternalID)
	} else {
		tx = tx.Where("external_id is null and lower(user_name) = lower(?)", u.UserName)
	}
	var row models.DirectoryUser
	return pg.OrNotFound(row, tx.Order("deleted_at desc, id desc").Take(&row).Error)
}

// userOf returns the user of a person or with an external id, one that is not deleted before others, and the newest of these.
func userOf(ctx context.Context, q *pg.Q, tenant, person, externalID string) (models.DirectoryUser, error) {
	var row models.DirectoryUser
	return pg.OrNotFound(row, q.Gorm(ctx).Where("tenant_id = ? and (person_id = ? or external_id = ? and not linked)", tenant, person, externalID).
		Order("deleted_at desc nulls first, id desc").Take(&row).Error)
}

// usersByID returns users that are not deleted, in the order of their ids.
func usersByID(ctx context.Context, q *pg.Q, tenant string, ids []string) ([]models.DirectoryUser, error) {
	var rows []models.DirectoryUser
	err := q.Gorm(ctx).Where("tenant_id = ? and id = any(?::text[]) and deleted_at is null", tenant, models.Strings(ids)).Order("id").Find(&rows).Error
	return rows, err
}

// activeUsers returns the ids of the users who are active or have been a person.
func activeUsers(ctx context.Context, q *pg.Q, tenant string) ([]string, error) {
	var out []string
	err := q.Gorm(ctx).Raw("select id from directory_users where tenant_id = ? and deleted_at is null and (active or person_id is not null) order by id", tenant).Find(&out).Error
	return out, err
}

// reportsOf returns the ids of the users who have a manager and a person.
func reportsOf(ctx context.Context, q *pg.Q, tenant, manager string) ([]string, error) {
	var out []string
	err := q.Gorm(ctx).Raw("select id from directory_users where tenant_id = ? and manager = ? and deleted_at is null and person_id is not null order by id", tenant, manager).Find(&out).Error
	return out, err
}

// getGroup returns a group; lock locks the row until the transaction ends.
func getGroup(ctx context.Context, q *pg.Q, tenant, id string, lock bool) (models.DirectoryGroup, error) {
	var row models.DirectoryGroup
	tx := q.Gorm(ctx).Where("tenant_id = ? and id = ?", tenant, id)
	if lock {
		tx = tx.Clauses(clause.Locking{Strength: "UPDATE"})
	}
	return pg.OrNotFound(row, tx.Take(&row).Error)
}

func createGroup(ctx context.Context, q *pg.Q, g models.DirectoryGroup) error {
	return q.Gorm(ctx).Create(&g).Error
}

func changeGroup(ctx context.Context, q *pg.Q, g models.DirectoryGroup) error {
	_, err := pg.Change[models.DirectoryGroup](ctx, q, "tenant_id = @TenantID and id = @ID",
		"external_id = @ExternalID, display_name = @DisplayName, revision = @Revision, updated_at = @UpdatedAt", g)
	return err
}

func deleteGroup(ctx context.Context, q *pg.Q, tenant, id string) error {
	_, err := pg.Remove[models.DirectoryGroup](ctx, q, "tenant_id = ? and id = ?", tenant, id)
	return err
}

// memberBatch is how many rows of members one statement inserts.
const memberBatch = 1000

// addMembers inserts members that the group does not have.
func addMembers(ctx context.Context, q *pg.Q, rows []models.DirectoryMember) error {
	if len(rows) == 0 {
		return nil
	}
	return q.Gorm(ctx).Clauses(clause.OnConflict{DoNothing: true}).CreateInBatches(&rows, memberBatch).Error
}

func removeMembers(ctx context.Context, q *pg.Q, tenant, group string, users []string) error {
	_, err := q.Exec(ctx, "delete from directory_members where tenant_id = $1 and group_id = $2 and user_id = any($3)", tenant, group, users)
	return err
}

// removeMemberships removes a user from all groups.
func removeMemberships(ctx context.Context, q *pg.Q, tenant, user string) error {
	_, err := q.Exec(ctx, "delete from directory_members where tenant_id = $1 and user_id = $2", tenant, user)
	return err
}

// memberIDs returns the ids of the users of a group.
func memberIDs(ctx context.Context, q *pg.Q, tenant, group string) ([]string, error) {
	var out []string
	err := q.Gorm(ctx).Raw("select user_id from directory_members where tenant_id = ? and group_id = ? order by user_id", tenant, group).Find(&out).Error
	return out, err
}

// membershipsOf returns the memberships of users. Roles follow from them: they are verified.
func membershipsOf(ctx context.Context, q *pg.Q, tenant string, users []string) ([]models.DirectoryMember, error) {
	var rows []models.DirectoryMember
	err := q.Gorm(ctx).Where("tenant_id = ? and user_id = any(?::text[])", tenant, models.Strings(users)).Order("user_id, group_id").Find(&rows).Error
	return rows, err
}

// groupsByID returns groups, in the order of their ids.
func groupsByID(ctx context.Context, q *pg.Q, tenant string, ids []string) ([]models.DirectoryGroup, error) {
	var rows []models.DirectoryGroup
	err := q.Gorm(ctx).Where("tenant_id = ? and id = any(?::text[])", tenant, models.Strings(ids)).Order("id").Find(&rows).Error
	return rows, err
}

// countDirectory returns how many users, active ones and groups a tenant has, and how many users are people.
func countDirectory(ctx context.Context, q *pg.Q, tenant string) (c Counts, err error) {
	err = q.QueryRow(ctx, `select count(*), count(*) filter (where active), count(person_id) filter (where active),
		(select count(*) from directory_groups where tenant_id = $1) from directory_users where tenant_id = $1 and deleted_at is null`, tenant).
		Scan(&c.Users, &c.Active, &c.People, &c.Groups)
	return c, err
}
