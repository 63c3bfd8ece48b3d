package store

import (
	"context"
	"time"

	"gorm.io/gorm/clause"

	"github.com/countersign-dev/countersign/models"
)

// RegistrationGrants stores grants to register a passkey.
type RegistrationGrants struct{ *Q }

// RegistrationGrants returns the queries of the aggregate.
func (q *Q) RegistrationGrants() RegistrationGrants { return RegistrationGrants{q} }

// Create inserts a grant.
func (q RegistrationGrants) Create(ctx context.Context, g models.RegistrationGrant) error {
	return q.gorm(ctx).Create(&g).Error
}

// Lock returns the grant of the scope with one of the MACs of its token and locks it until the transaction ends. It
// returns used and expired grants too.
func (q RegistrationGrants) Lock(ctx context.Context, s Scope, macs [][]byte) (models.RegistrationGrant, error) {
	var g models.RegistrationGrant
	return orNotFound(g, q.gorm(ctx).Clauses(clause.Locking{Strength: "UPDATE"}).
		Where(inScope+" and mac in ?", s.Tenant, s.Environment, macs).Take(&g).Error)
}

// Get returns the grant with one of the MACs of its token. There is no scope: the caller has only the token.
func (q RegistrationGrants) Get(ctx context.Context, macs [][]byte) (models.RegistrationGrant, error) {
	var g models.RegistrationGrant
	return orNotFound(g, q.gorm(ctx).Where("mac in ?", macs).Take(&g).Error)
}

// SetCeremony stores the WebAuthn ceremony that the next completion is checked against; nil ends it.
func (q RegistrationGrants) SetCeremony(ctx context.Context, g models.RegistrationGrant, ceremony models.JSON) error {
	_, err := q.exec(ctx, "update registration_grants set ceremony = $2 where mac = $1 and environment_id = $3 and used_at is null",
		g.MAC, ceremony, g.EnvironmentID)
	return err
}

// Use marks a grant as used. It returns false if it was used before or has expired.
func (q RegistrationGrants) Use(ctx context.Context, g models.RegistrationGrant, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update registration_grants set used_at = $2, ceremony = null
		where mac = $1 and environment_id = $3 and used_at is null and expires_at > $2`, g.MAC, at, g.EnvironmentID)
	return n == 1, err
}

// EndOfSubject makes the unused grants of a subject expire, and ends their ceremonies.
func (q RegistrationGrants) EndOfSubject(ctx context.Context, s Scope, uid string, at time.Time) error {
	_, err := q.exec(ctx, `update registration_grants set expires_at = $4, ceremony = null
		where tenant_id = $1 and environment_id = $2 and subject_uid = $3 and used_at is null and expires_at > $4`, s.Tenant, s.Environment, uid, at)
	return err
}

// Drop deletes at most limit grants that expired before t.
func (q RegistrationGrants) Drop(ctx context.Context, t time.Time, limit int) (int64, error) {
	return q.exec(ctx, `delete from registration_grants where mac in
		(select mac from registration_grants where expires_at < $1 limit $2)`, t, limit)
}
