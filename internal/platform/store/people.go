package store

import (
	"context"
	"time"

	"gorm.io/gorm/clause"

	"github.com/countersign-dev/countersign/models"
)

// Create inserts a person of a tenant.
func (q Staff) Create(ctx context.Context, p models.Person) error {
	return q.gorm(ctx).Create(&p).Error
}

// Lock finds a person of the tenant, revoked ones too, and locks the row to the end of the transaction.
func (q Staff) Lock(ctx context.Context, tenant, id string) (models.Person, error) {
	var p models.Person
	return one(p, q.gorm(ctx).Clauses(clause.Locking{Strength: "UPDATE"}).Where("tenant_id = ? and id = ?", tenant, id).Take(&p).Error)
}

// List lists a tenant's people, revoked ones too, newest first.
func (q Staff) List(ctx context.Context, tenant string, p Page) ([]models.Person, string, error) {
	tx, err := paginate(q.gorm(ctx).Where("tenant_id = ?", tenant), p, "created_at", "id")
	if err != nil {
		return nil, "", err
	}
	var rows []models.Person
	if err := tx.Find(&rows).Error; err != nil {
		return nil, "", err
	}
	rows, next := cut(rows, p, func(r models.Person) (time.Time, string) { return r.CreatedAt, r.ID })
	return rows, next, nil
}

// Names are the names of people of the tenant, by id.
func (q Staff) Names(ctx context.Context, tenant string, ids []string) (map[string]string, error) {
	var rows []models.Person
	err := q.gorm(ctx).Select("id", "name").Where("tenant_id = ? and id in ?", tenant, ids).Find(&rows).Error
	out := make(map[string]string, len(rows))
	for _, r := range rows {
		out[r.ID] = r.Name
	}
	return out, err
}

// Revoke ends a person's access; false where it was ended before. Sessions end with EndConsoleSessions.
func (q Staff) Revoke(ctx context.Context, tenant, id, by string, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update people set revoked_at = $4, revoked_by = $3 where tenant_id = $1 and id = $2 and revoked_at is null`,
		tenant, id, by, at)
	return n == 1, err
}

// MarkJoined keeps when a person registered their first passkey.
func (q Staff) MarkJoined(ctx context.Context, person string, at time.Time) error {
	_, err := q.exec(ctx, "update people set joined_at = $2 where id = $1 and joined_at is null", person, at)
	return err
}

// GrantRole gives a role; false where the person has it already.
func (q Staff) GrantRole(ctx context.Context, r models.PersonRole) (bool, error) {
	res := q.gorm(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&r)
	return res.RowsAffected == 1, res.Error
}

// WithdrawRole takes a role away; false where the person does not have it.
func (q Staff) WithdrawRole(ctx context.Context, person, environment string, role models.Role) (bool, error) {
	n, err := q.exec(ctx, "delete from person_roles where person_id = $1 and environment_id = $2 and role = $3", person, environment, role)
	return n == 1, err
}

// RolesOf are the roles of people, by environment and role.
func (q Staff) RolesOf(ctx context.Context, people ...string) ([]models.PersonRole, error) {
	var rows []models.PersonRole
	err := q.gorm(ctx).Where("person_id in ?", people).Order("person_id, environment_id, role").Find(&rows).Error
	return rows, err
}

// Create inserts an invitation.
func (q Invitations) Create(ctx context.Context, i models.PersonInvitation) error {
	return q.gorm(ctx).Create(&i).Error
}

// Get finds an invitation by one of the MACs of its token, with its person. Used and expired ones are found too.
// Lock keeps it to the end of the transaction. The token is what the caller has; there is no scope before it is known.
func (q Invitations) Get(ctx context.Context, macs [][]byte, lock bool) (models.PersonInvitation, models.Person, error) {
	var i models.PersonInvitation
	var p models.Person
	tx := q.gorm(ctx).Where("mac in ?", macs)
	if lock {
		tx = tx.Clauses(clause.Locking{Strength: "UPDATE"})
	}
	if i, err := one(i, tx.Take(&i).Error); err != nil {
		return i, p, err
	}
	p, err := one(p, q.gorm(ctx).Where("id = ?", i.PersonID).Take(&p).Error)
	return i, p, err
}

// Open are the invitations of a person that can still be used.
func (q Invitations) Open(ctx context.Context, person string, now time.Time) (int, error) {
	var n int
	err := q.queryRow(ctx, "select count(*) from person_invitations where person_id = $1 and used_at is null and expires_at > $2",
		person, now).Scan(&n)
	return n, err
}

// SetCeremony keeps what the next completion is held against; nil ends the ceremony under way.
func (q Invitations) SetCeremony(ctx context.Context, mac []byte, ceremony models.JSON) error {
	_, err := q.exec(ctx, "update person_invitations set ceremony = $2 where mac = $1 and used_at is null", mac, ceremony)
	return err
}

// Use spends an invitation; false where it was spent before or is over.
func (q Invitations) Use(ctx context.Context, mac []byte, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update person_invitations set used_at = $2, ceremony = null
		where mac = $1 and used_at is null and expires_at > $2`, mac, at)
	return n == 1, err
}

// Void ends what invitations a person still has.
func (q Invitations) Void(ctx context.Context, person string, at time.Time) error {
	_, err := q.exec(ctx, `update person_invitations set used_at = $2, ceremony = null where person_id = $1 and used_at is null`, person, at)
	return err
}

// CreatePasskey inserts a passkey; false where its credential id is known already, whoever has it.
func (q Staff) CreatePasskey(ctx context.Context, p models.PersonPasskey) (bool, error) {
	res := q.gorm(ctx).Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "credential_id"}}, DoNothing: true}).Create(&p)
	return res.RowsAffected == 1, res.Error
}

// Passkeys are a person's passkeys, oldest first.
func (q Staff) Passkeys(ctx context.Context, person string) ([]models.PersonPasskey, error) {
	var rows []models.PersonPasskey
	err := q.gorm(ctx).Where("person_id = ?", person).Order("created_at, id").Find(&rows).Error
	return rows, err
}

// LockPasskey finds the passkey with the credential id, with its person, and locks it to the end of the transaction.
func (q Staff) LockPasskey(ctx context.Context, credentialID []byte) (models.PersonPasskey, models.Person, error) {
	var k models.PersonPasskey
	var p models.Person
	tx := q.gorm(ctx).Clauses(clause.Locking{Strength: "UPDATE"}).Where("credential_id = ?", credentialID)
	if k, err := one(k, tx.Take(&k).Error); err != nil {
		return k, p, err
	}
	p, err := one(p, q.gorm(ctx).Where("id = ?", k.PersonID).Take(&p).Error)
	return k, p, err
}

// UsePasskey keeps what an assertion changed of a passkey.
func (q Staff) UsePasskey(ctx context.Context, k models.PersonPasskey) error {
	_, err := q.exec(ctx, "update person_passkeys set sign_count = $2, backup_state = $3, clone_warning = $4, last_used_at = $5 where id = $1",
		k.ID, k.SignCount, k.BackupState, k.CloneWarning, k.LastUsedAt)
	return err
}

// Create inserts a session; false where its ceremony has opened one before.
func (q ConsoleSessions) Create(ctx context.Context, s models.ConsoleSession) (bool, error) {
	res := q.gorm(ctx).Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "ceremony"}}, DoNothing: true}).Create(&s)
	return res.RowsAffected == 1, res.Error
}

// Get finds a session by one of the MACs of its cookie, with its person. Ended and expired ones are found too.
func (q ConsoleSessions) Get(ctx context.Context, macs [][]byte) (models.ConsoleSession, models.Person, error) {
	var s models.ConsoleSession
	var p models.Person
	if s, err := one(s, q.gorm(ctx).Where("mac in ?", macs).Take(&s).Error); err != nil {
		return s, p, err
	}
	p, err := one(p, q.gorm(ctx).Where("id = ?", s.PersonID).Take(&p).Error)
	return s, p, err
}

// Touch keeps when a session was last used.
func (q ConsoleSessions) Touch(ctx context.Context, id string, at time.Time) error {
	_, err := q.exec(ctx, "update console_sessions set last_seen_at = $2 where id = $1 and ended_at is null and last_seen_at < $2", id, at)
	return err
}

// BeginConfirmation keeps the ceremony that may confirm a session next. The one before it can no longer be used.
func (q ConsoleSessions) BeginConfirmation(ctx context.Context, id string, ceremony []byte) error {
	_, err := q.exec(ctx, "update console_sessions set confirming = $2 where id = $1 and ended_at is null", id, ceremony)
	return err
}

// Confirm keeps that the session's person used a passkey again, and ends the ceremony; false if the session has
// ended or the ceremony is not the one under way. Ceremony stays the one that opened the session: that it is unique is
// what keeps a sign-in from being used twice.
func (q ConsoleSessions) Confirm(ctx context.Context, id string, ceremony []byte, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update console_sessions set confirmed_at = $3, last_seen_at = $3, confirming = null
		where id = $1 and ended_at is null and confirming = $2`, id, ceremony, at)
	return n == 1, err
}

// End ends one session; false where it had ended.
func (q ConsoleSessions) End(ctx context.Context, id string, at time.Time) (bool, error) {
	n, err := q.exec(ctx, "update console_sessions set ended_at = $2 where id = $1 and ended_at is null", id, at)
	return n == 1, err
}

// EndAll ends all sessions of a person and answers their ids.
func (q ConsoleSessions) EndAll(ctx context.Context, person string, at time.Time) ([]string, error) {
	var ids []string
	err := q.gorm(ctx).Raw("update console_sessions set ended_at = ? where person_id = ? and ended_at is null returning id", at, person).
		Scan(&ids).Error
	return ids, err
}

// DropTraces forgets sessions and invitations that ended before t, at most limit of each.
func (q Staff) DropTraces(ctx context.Context, t time.Time, limit int) (int64, error) {
	sessions, err := q.exec(ctx, `delete from console_sessions where mac in
		(select mac from console_sessions where expires_at < $1 limit $2)`, t, limit)
	if err != nil {
		return 0, err
	}
	invitations, err := q.exec(ctx, `delete from person_invitations where mac in
		(select mac from person_invitations where expires_at < $1 limit $2)`, t, limit)
	return sessions + invitations, err
}
