package store

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/models"
)

// ClientTokens stores client tokens by the MAC of their secret.
type ClientTokens struct{ *Q }

// ClientTokens returns the queries of the aggregate.
func (q *Q) ClientTokens() ClientTokens { return ClientTokens{q} }

// Create inserts a client token.
func (q ClientTokens) Create(ctx context.Context, t models.ClientToken) error {
	return q.gorm(ctx).Create(&t).Error
}

// ByMAC returns a client token with the credential that issued it and its environment. It returns expired and revoked
// tokens too.
func (q ClientTokens) ByMAC(ctx context.Context, macs [][]byte) (t models.ClientToken, issuer models.Credential, e models.Environment, err error) {
	if t, err = orNotFound(t, q.gorm(ctx).Where("mac in ?", macs).Take(&t).Error); err != nil {
		return t, issuer, e, err
	}
	scope := Scope{t.TenantID, t.EnvironmentID}
	if issuer, err = q.Credentials().Get(ctx, scope, t.CredentialID); err != nil {
		return t, issuer, e, err
	}
	e, err = q.Environments().Get(ctx, scope)
	return t, issuer, e, err
}

// RevokeOfSubject revokes the client tokens of a subject, notifies every process and returns how many of them had not
// expired.
func (q ClientTokens) RevokeOfSubject(ctx context.Context, s Scope, uid string, at time.Time) (held int, err error) {
	var issuers []struct {
		CredentialID string
		Held         int
	}
	err = q.gorm(ctx).Raw(`with revoked as (
			update client_tokens set revoked_at = @at
			where subject_uid = @uid and tenant_id = @tenant and environment_id = @environment and revoked_at is null
			returning credential_id, expires_at)
		select credential_id, count(*) filter (where expires_at > @at) as held from revoked group by 1`, map[string]any{
		"at": at, "uid": uid, "tenant": s.Tenant, "environment": s.Environment,
	}).Find(&issuers).Error
	for _, i := range issuers {
		held += i.Held
		if err := q.Notify(ctx, ChannelCredential, i.CredentialID); err != nil {
			return held, err
		}
	}
	return held, err
}

// Drop deletes at most limit client tokens that expired before t.
func (q ClientTokens) Drop(ctx context.Context, t time.Time, limit int) (int64, error) {
	return q.exec(ctx, `delete from client_tokens where (mac, environment_id) in (select mac, environment_id from client_tokens where expires_at < $1 limit $2)`, t, limit)
}
