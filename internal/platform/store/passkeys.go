package store

import (
	"context"
	"time"

	"gorm.io/gorm/clause"

	"github.com/countersign-dev/countersign/models"
)

const ofScope = "tenant_id = ? and environment_id = ?"

// Create inserts a passkey; false where the environment knows its credential id already, whoever has it.
func (q Passkeys) Create(ctx context.Context, p models.Passkey) (bool, error) {
	res := q.gorm(ctx).Clauses(clause.OnConflict{
		Columns: []clause.Column{{Name: "environment_id"}, {Name: "credential_id"}}, DoNothing: true,
	}).Create(&p)
	return res.RowsAffected == 1, res.Error
}

// List lists a subject's passkeys, revoked ones too, newest first.
func (q Passkeys) List(ctx context.Context, s Scope, uid string, p Page) ([]models.Passkey, string, error) {
	tx, err := paginate(q.gorm(ctx).Where(ofScope+" and subject_uid = ?", s.Tenant, s.Environment, uid), p, "created_at", "id")
	if err != nil {
		return nil, "", err
	}
	var rows []models.Passkey
	if err := tx.Find(&rows).Error; err != nil {
		return nil, "", err
	}
	rows, next := cut(rows, p, func(r models.Passkey) (time.Time, string) { return r.CreatedAt, r.ID })
	return rows, next, nil
}

// Active are the passkeys of the subjects that are not revoked, oldest first.
func (q Passkeys) Active(ctx context.Context, s Scope, uids ...string) ([]models.Passkey, error) {
	var rows []models.Passkey
	err := q.gorm(ctx).Where(ofScope+" and subject_uid in ? and revoked_at is null", s.Tenant, s.Environment, uids).
		Order("created_at, id").Find(&rows).Error
	return rows, err
}

// Revoke revokes one passkey of the subject; false where it was revoked before, ErrNotFound where there is none.
func (q Passkeys) Revoke(ctx context.Context, s Scope, uid, id string, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update passkeys set revoked_at = $5
		where tenant_id = $1 and environment_id = $2 and subject_uid = $3 and id = $4 and revoked_at is null`,
		s.Tenant, s.Environment, uid, id, at)
	if err != nil || n == 1 {
		return n == 1, err
	}
	var found string
	err = q.queryRow(ctx, `select id from passkeys where tenant_id = $1 and environment_id = $2 and subject_uid = $3 and id = $4`,
		s.Tenant, s.Environment, uid, id).Scan(&found)
	_, err = one(found, err)
	return false, err
}

// WarnOfClone marks a passkey whose counter went back.
func (q Passkeys) WarnOfClone(ctx context.Context, s Scope, id string) error {
	_, err := q.exec(ctx, "update passkeys set clone_warning = true where tenant_id = $1 and environment_id = $2 and id = $3",
		s.Tenant, s.Environment, id)
	return err
}

// Create inserts a grant.
func (q RegistrationGrants) Create(ctx context.Context, g models.RegistrationGrant) error {
	return q.gorm(ctx).Create(&g).Error
}

// Lock finds a grant of the scope by one of the MACs of its token and locks it to the end of the
// transaction. Used and expired ones are found too.
func (q RegistrationGrants) Lock(ctx context.Context, s Scope, macs [][]byte) (models.RegistrationGrant, error) {
	var g models.RegistrationGrant
	return one(g, q.gorm(ctx).Clauses(clause.Locking{Strength: "UPDATE"}).
		Where(ofScope+" and mac in ?", s.Tenant, s.Environment, macs).Take(&g).Error)
}

// Get finds a grant by one of the MACs of its token, whatever its scope: whoever holds the token may know.
func (q RegistrationGrants) Get(ctx context.Context, macs [][]byte) (models.RegistrationGrant, error) {
	var g models.RegistrationGrant
	return one(g, q.gorm(ctx).Where("mac in ?", macs).Take(&g).Error)
}

// SetCeremony keeps what the next completion is held against; nil ends the ceremony under way.
func (q RegistrationGrants) SetCeremony(ctx context.Context, mac []byte, ceremony models.JSON) error {
	_, err := q.exec(ctx, "update registration_grants set ceremony = $2 where mac = $1 and used_at is null", mac, ceremony)
	return err
}

// Use spends a grant; false where it was spent before or is over.
func (q RegistrationGrants) Use(ctx context.Context, mac []byte, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update registration_grants set used_at = $2, ceremony = null
		where mac = $1 and used_at is null and expires_at > $2`, mac, at)
	return n == 1, err
}

// Drop forgets grants that ended before t, at most limit of them.
func (q RegistrationGrants) Drop(ctx context.Context, t time.Time, limit int) (int64, error) {
	return q.exec(ctx, `delete from registration_grants where mac in
		(select mac from registration_grants where expires_at < $1 limit $2)`, t, limit)
}
