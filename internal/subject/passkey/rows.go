package passkey

import (
	"context"
	"time"

	"gorm.io/gorm/clause"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// CreatePasskey inserts a passkey. It returns false if the environment has its credential id already, for any subject.
func CreatePasskey(ctx context.Context, q *pg.Q, p models.Passkey) (bool, error) {
	res := q.Gorm(ctx).Clauses(clause.OnConflict{
		Columns: []clause.Column{{Name: "environment_id"}, {Name: "credential_id"}}, DoNothing: true,
	}).Create(&p)
	return res.RowsAffected == 1, res.Error
}

// listPasskeys lists a subject's passkeys, newest first, revoked ones too.
func listPasskeys(ctx context.Context, q *pg.Q, s pg.Scope, uid string, p pg.Page) ([]models.Passkey, string, error) {
	tx, err := pg.Paginate(pg.Unchecked(q.Gorm(ctx)).Where(pg.InScope+" and subject_uid = ?", s.Tenant, s.Environment, uid), p, "created_at", "id")
	if err != nil {
		return nil, "", err
	}
	var rows []models.Passkey
	if err := tx.Find(&rows).Error; err != nil {
		return nil, "", err
	}
	rows, next := pg.CutPage(rows, p, func(r models.Passkey) (time.Time, string) { return r.CreatedAt, r.ID })
	return rows, next, nil
}

// modelsMatter reports whether an active policy of the environment permits only some models of authenticators.
func modelsMatter(ctx context.Context, q *pg.Q, s pg.Scope) (bool, error) {
	var matter bool
	err := q.QueryRow(ctx, `select exists (select from policy_versions where tenant_id = $1 and environment_id = $2 and status = 'active'
		and requirements ? 'passkey_aaguids')`, s.Tenant, s.Environment).Scan(&matter)
	return matter, err
}

// revokePasskey revokes a passkey of the subject. It returns false if it was revoked before and ErrNotFound if there is none.
func revokePasskey(ctx context.Context, q *pg.Q, s pg.Scope, uid, id string, at time.Time) (bool, error) {
	revoked, err := pg.Change[models.Passkey](ctx, q,
		"tenant_id = @tenant and environment_id = @environment and subject_uid = @uid and id = @id and revoked_at is null", "revoked_at = @at",
		map[string]any{"tenant": s.Tenant, "environment": s.Environment, "uid": uid, "id": id, "at": at})
	if err != nil || len(revoked) == 1 {
		return err == nil, err
	}
	var found string
	err = q.QueryRow(ctx, `select id from passkeys where tenant_id = $1 and environment_id = $2 and subject_uid = $3 and id = $4`,
		s.Tenant, s.Environment, uid, id).Scan(&found)
	_, err = pg.OrNotFound(found, err)
	return false, err
}

// warnOfClone marks a passkey whose sign count went backwards, which a cloned authenticator would cause.
func warnOfClone(ctx context.Context, q *pg.Q, s pg.Scope, id string) error {
	_, err := q.Exec(ctx, "update passkeys set clone_warning = true where tenant_id = $1 and environment_id = $2 and id = $3",
		s.Tenant, s.Environment, id)
	return err
}

func createRegistrationGrant(ctx context.Context, q *pg.Q, g models.RegistrationGrant) error {
	return q.Gorm(ctx).Create(&g).Error
}

// lockRegistrationGrant returns the grant of the scope with one of the MACs of its token and locks it until the transaction ends. It
// returns used and expired grants too.
func lockRegistrationGrant(ctx context.Context, q *pg.Q, s pg.Scope, macs [][]byte) (models.RegistrationGrant, error) {
	var g models.RegistrationGrant
	return pg.OrNotFound(g, q.Gorm(ctx).Clauses(clause.Locking{Strength: "UPDATE"}).
		Where(pg.InScope+" and mac in ?", s.Tenant, s.Environment, macs).Take(&g).Error)
}

// getRegistrationGrant returns the grant with one of the MACs of its token. There is no scope: the caller has only the token.
func getRegistrationGrant(ctx context.Context, q *pg.Q, macs [][]byte) (models.RegistrationGrant, error) {
	var g models.RegistrationGrant
	return pg.OrNotFound(g, q.Gorm(ctx).Where("mac in ?", macs).Take(&g).Error)
}

// setCeremony stores the WebAuthn ceremony that the next completion is checked against; nil ends it.
func setCeremony(ctx context.Context, q *pg.Q, g models.RegistrationGrant, ceremony models.JSON) error {
	_, err := q.Exec(ctx, "update registration_grants set ceremony = $2 where mac = $1 and environment_id = $3 and used_at is null",
		g.MAC, ceremony, g.EnvironmentID)
	return err
}

// useRegistrationGrant marks a grant as used. It returns false if it was used before or has expired.
func useRegistrationGrant(ctx context.Context, q *pg.Q, g models.RegistrationGrant, at time.Time) (bool, error) {
	used, err := pg.Change[models.RegistrationGrant](ctx, q, "mac = @mac and environment_id = @environment and used_at is null and expires_at > @at",
		"used_at = @at, ceremony = null", map[string]any{"mac": g.MAC, "environment": g.EnvironmentID, "at": at})
	return len(used) == 1, err
}

// EndGrantsOfSubject makes the unused grants of a subject of before a time expire, and ends their ceremonies.
func EndGrantsOfSubject(ctx context.Context, q *pg.Q, s pg.Scope, uid string, before, at time.Time) error {
	_, err := pg.Change[models.RegistrationGrant](ctx, q,
		"tenant_id = @tenant and environment_id = @environment and subject_uid = @uid and used_at is null and expires_at > @at and created_at <= @before",
		"expires_at = @at, ceremony = null", map[string]any{"before": before, "tenant": s.Tenant, "environment": s.Environment, "uid": uid, "at": at})
	return err
}

// DropGrants deletes at most limit grants that expired before t.
func DropGrants(ctx context.Context, q *pg.Q, t time.Time, limit int) (int64, error) {
	return q.Exec(ctx, `delete from registration_grants where mac in
		(select mac from registration_grants where expires_at < $1 limit $2)`, t, limit)
}
