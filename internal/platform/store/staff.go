package store

import (
	"context"
	"time"

	"gorm.io/gorm/clause"

	"github.com/countersign-dev/countersign/models"
)

// Staff stores the people who work in the console, their roles and their passkeys.
type Staff struct{ *Q }

// Staff returns the queries of the aggregate.
func (q *Q) Staff() Staff { return Staff{q} }

// Create inserts a person of a tenant.
func (q Staff) Create(ctx context.Context, p models.Person) error {
	return q.gorm(ctx).Create(&p).Error
}

// Lock returns a person of the tenant, revoked or not, and locks the row until the transaction ends.
func (q Staff) Lock(ctx context.Context, tenant, id string) (models.Person, error) {
	var p models.Person
	return orNotFound(p, q.gorm(ctx).Clauses(clause.Locking{Strength: "UPDATE"}).Where("tenant_id = ? and id = ?", tenant, id).Take(&p).Error)
}

// Share returns a person of the tenant, revoked or not, whose access and roles do not change until the transaction ends.
func (q Staff) Share(ctx context.Context, tenant, id string) (models.Person, error) {
	var p models.Person
	return orNotFound(p, q.gorm(ctx).Clauses(clause.Locking{Strength: "SHARE"}).Where("tenant_id = ? and id = ?", tenant, id).Take(&p).Error)
}

// List lists the people of a tenant, newest first, revoked ones too.
func (q Staff) List(ctx context.Context, tenant string, p Page) ([]models.Person, string, error) {
	tx, err := paginate(q.gorm(ctx).Where("tenant_id = ?", tenant), p, "created_at", "id")
	if err != nil {
		return nil, "", err
	}
	var rows []models.Person
	if err := tx.Find(&rows).Error; err != nil {
		return nil, "", err
	}
	rows, next := cutPage(rows, p, func(r models.Person) (time.Time, string) { return r.CreatedAt, r.ID })
	return rows, next, nil
}

// Names returns the names of people of the tenant, by id.
func (q Staff) Names(ctx context.Context, tenant string, ids []string) (map[string]string, error) {
	var rows []models.Person
	err := q.gorm(ctx).Select("id", "name").Where("tenant_id = ? and id in ?", tenant, ids).Find(&rows).Error
	out := make(map[string]string, len(rows))
	for _, r := range rows {
		out[r.ID] = r.Name
	}
	return out, err
}

// Revoke revokes a person's access, and forgets their e-mail address and their notices. It returns false if it was revoked before. The caller ends the sessions
// (ConsoleSessions.EndAll).
func (q Staff) Revoke(ctx context.Context, tenant, id, by string, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update people set revoked_at = $4, revoked_by = $3 where tenant_id = $1 and id = $2 and revoked_at is null`,
		tenant, id, by, at)
	if err != nil || n == 0 {
		return false, err
	}
	return true, q.Notices().Forget(ctx, id)
}

// MarkJoined records when a person registered their first passkey.
func (q Staff) MarkJoined(ctx context.Context, person string, at time.Time) error {
	_, err := q.exec(ctx, "update people set joined_at = $2 where id = $1 and joined_at is null", person, at)
	return err
}

// MarkShown records that a link was shown to an actor that registered a passkey of an account: that actor may be the account, so that
// its principal has to be confirmed anew.
func (q Staff) MarkShown(ctx context.Context, p models.Person, actor string) error {
	if _, err := q.exec(ctx, "update people set shown_to = array_append(array_remove(shown_to, $2), $2) where id = $1", p.ID, actor); err != nil {
		return err
	}
	_, err := q.exec(ctx, "update people set confirmed_at = null, confirmed_by = null where tenant_id = $1 and coalesce(principal, 'person:' || id) = $2",
		p.TenantID, p.CountsAs())
	return err
}

// Confirm records that the accounts of a principal are of a person of its own. It returns false if they were confirmed before.
func (q Staff) Confirm(ctx context.Context, p models.Person, by string, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update people set confirmed_at = $3, confirmed_by = $4
		where tenant_id = $1 and coalesce(principal, 'person:' || id) = $2 and confirmed_at is null`, p.TenantID, p.CountsAs(), at, by)
	return n > 0, err
}

// Accounts locks the accounts of a principal until the transaction ends, and returns them, the first one first.
func (q Staff) Accounts(ctx context.Context, tenant, principal string) ([]models.Person, error) {
	var rows []models.Person
	err := q.gorm(ctx).Clauses(clause.Locking{Strength: "UPDATE"}).Where("tenant_id = ? and coalesce(principal, 'person:' || id) = ?", tenant, principal).
		Order("created_at, id").Find(&rows).Error
	return rows, err
}

// Linkable returns at most limit confirmed people of the tenant of a person who count as someone else, newest first.
func (q Staff) Linkable(ctx context.Context, p models.Person, limit int) ([]models.Person, error) {
	var rows []models.Person
	err := q.gorm(ctx).Where("tenant_id = ? and revoked_at is null and confirmed_at is not null and coalesce(principal, 'person:' || id) <> ?", p.TenantID, p.CountsAs()).
		Order("created_at desc, id desc").Limit(limit).Find(&rows).Error
	return rows, err
}

// ConfirmedOperators counts the people other than one who are operators of an environment and were confirmed.
func (q Staff) ConfirmedOperators(ctx context.Context, s Scope, except string) (int, error) {
	var n int
	err := q.queryRow(ctx, `select count(*) from people p join person_roles r on r.person_id = p.id and r.environment_id = $2 and r.role = 'operator'
		where p.tenant_id = $1 and p.revoked_at is null and p.confirmed_at is not null and p.id <> $3`, s.Tenant, s.Environment, except).Scan(&n)
	return n, err
}

// SignedIn records a sign-in of a person of an identity provider, from which the lapse of their credentials is counted.
func (q Staff) SignedIn(ctx context.Context, tenant, person string, at time.Time) error {
	if _, err := q.exec(ctx, "update people set signed_in_at = $3 where tenant_id = $1 and id = $2", tenant, person, at); err != nil {
		return err
	}
	return q.Credentials().Lapse(ctx, tenant, LapseOf{Person: person})
}

// GrantRole grants a role. It returns false if the person has it already.
func (q Staff) GrantRole(ctx context.Context, r models.PersonRole) (bool, error) {
	res := q.gorm(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&r)
	return res.RowsAffected == 1, res.Error
}

// WithdrawRole withdraws a role. It returns false if the person does not have it.
func (q Staff) WithdrawRole(ctx context.Context, person, environment string, role models.Role) (bool, error) {
	n, err := q.exec(ctx, "delete from person_roles where person_id = $1 and environment_id = $2 and role = $3", person, environment, role)
	return n == 1, err
}

// RolesOf returns the roles of people, by person, environment and role.
func (q Staff) RolesOf(ctx context.Context, people ...string) ([]models.PersonRole, error) {
	var rows []models.PersonRole
	err := q.gorm(ctx).Where("person_id in ?", people).Order("person_id, environment_id, role").Find(&rows).Error
	return rows, err
}

// RolesIn returns the roles of a person in one environment.
func (q Staff) RolesIn(ctx context.Context, person, environment string) ([]models.Role, error) {
	var out []models.Role
	err := q.gorm(ctx).Model(&models.PersonRole{}).Where("person_id = ? and environment_id = ?", person, environment).Order("role").Pluck("role", &out).Error
	return out, err
}

// CreatePasskey inserts a passkey. It returns false if its credential id is stored already, for any person.
func (q Staff) CreatePasskey(ctx context.Context, p models.PersonPasskey) (bool, error) {
	res := q.gorm(ctx).Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "credential_id"}}, DoNothing: true}).Create(&p)
	return res.RowsAffected == 1, res.Error
}

// Passkeys returns a person's passkeys, oldest first.
func (q Staff) Passkeys(ctx context.Context, person string) ([]models.PersonPasskey, error) {
	var rows []models.PersonPasskey
	err := q.gorm(ctx).Where("person_id = ?", person).Order("created_at, id").Find(&rows).Error
	return rows, err
}

// LockPasskey returns the passkey with the credential id, and its person, and locks it until the transaction ends.
func (q Staff) LockPasskey(ctx context.Context, credentialID []byte) (models.PersonPasskey, models.Person, error) {
	var k models.PersonPasskey
	var p models.Person
	tx := q.gorm(ctx).Clauses(clause.Locking{Strength: "UPDATE"}).Where("credential_id = ?", credentialID)
	if k, err := orNotFound(k, tx.Take(&k).Error); err != nil {
		return k, p, err
	}
	p, err := orNotFound(p, q.gorm(ctx).Where("id = ?", k.PersonID).Take(&p).Error)
	return k, p, err
}

// RecordPasskeyUse stores the fields of a passkey that an assertion changed.
func (q Staff) RecordPasskeyUse(ctx context.Context, k models.PersonPasskey) error {
	_, err := q.exec(ctx, "update person_passkeys set sign_count = $2, backup_state = $3, clone_warning = $4, last_used_at = $5 where id = $1",
		k.ID, k.SignCount, k.BackupState, k.CloneWarning, k.LastUsedAt)
	return err
}

// DropExpired deletes sessions, invitations and the record of accepted logout tokens that expired before t, at most limit of each.
func (q Staff) DropExpired(ctx context.Context, t time.Time, limit int) (int64, error) {
	sessions, err := q.exec(ctx, `delete from console_sessions where mac in
		(select mac from console_sessions where expires_at < $1 limit $2)`, t, limit)
	if err != nil {
		return 0, err
	}
	invitations, err := q.exec(ctx, `delete from person_invitations where mac in
		(select mac from person_invitations where expires_at < $1 limit $2)`, t, limit)
	if err != nil {
		return 0, err
	}
	logouts, err := q.exec(ctx, `delete from provider_logouts where (identity_provider_id, token_digest) in
		(select identity_provider_id, token_digest from provider_logouts where expires_at < $1 limit $2)`, t, limit)
	return sessions + invitations + logouts, err
}
