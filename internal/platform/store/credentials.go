package store

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/models"
)

// Credentials stores credentials (API keys) by the MAC of their secret.
type Credentials struct{ *Q }

// Credentials returns the queries of the aggregate.
func (q *Q) Credentials() Credentials { return Credentials{q} }

// Create inserts a credential with its first key.
func (q Credentials) Create(ctx context.Context, c models.Credential, k models.CredentialKey) error {
	if err := q.gorm(ctx).Create(&c).Error; err != nil {
		return err
	}
	return q.gorm(ctx).Create(&k).Error
}

// ByMAC returns the credential with one of the MACs, its environment and its key. It returns expired and revoked
// credentials too: the caller distinguishes them.
func (q Credentials) ByMAC(ctx context.Context, macs [][]byte) (models.Credential, models.Environment, models.CredentialKey, error) {
	var k models.CredentialKey
	if err := q.gorm(ctx).Where("mac in ?", macs).Take(&k).Error; err != nil {
		_, err = orNotFound(k, err)
		return models.Credential{}, models.Environment{}, k, err
	}
	var c models.Credential
	if err := q.gorm(ctx).Where("id = ?", k.CredentialID).Take(&c).Error; err != nil {
		_, err = orNotFound(c, err)
		return c, models.Environment{}, k, err
	}
	e, err := q.Environments().Get(ctx, Scope{c.TenantID, c.EnvironmentID})
	return c, e, k, err
}

// Get returns one credential of the scope.
func (q Credentials) Get(ctx context.Context, s Scope, id string) (models.Credential, error) {
	var c models.Credential
	return orNotFound(c, q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and id = ?", s.Tenant, s.Environment, id).Take(&c).Error)
}

// Locked are credentials and their issuers, by id, which no other transaction revokes or reassigns meanwhile.
type Locked map[string]models.Credential

// Whole returns a credential all of whose issuers are locked, and ErrNotFound if there is none: an issuer is missing, or the credential was
// given to others before the lock.
func (l Locked) Whole(id string) (models.Credential, error) {
	c, ok := l[id]
	for _, issuer := range c.Issuers {
		_, has := l[issuer]
		ok = ok && has
	}
	if !ok {
		return models.Credential{}, ErrNotFound
	}
	return c, nil
}

// Lock locks credentials of the scope and their issuers until the transaction ends. Those highest in a chain come first, as in every
// transaction, so that none waits for another in a circle.
func (q Credentials) Lock(ctx context.Context, s Scope, ids ...string) (Locked, error) {
	var rows []models.Credential
	err := q.gorm(ctx).Raw(`select c.* from credentials c where c.tenant_id = @tenant and c.environment_id = @environment and (c.id = any(@ids)
			or exists (select from credentials l where l.id = any(@ids) and l.environment_id = @environment and c.id = any(l.issuers)))
		order by cardinality(c.issuers), c.id for update`,
		map[string]any{"ids": models.Strings(ids), "tenant": s.Tenant, "environment": s.Environment}).Find(&rows).Error
	out := Locked{}
	for _, c := range rows {
		out[c.ID] = c
	}
	return out, err
}

// Under returns the credentials of the scope that rest on any of these and are not revoked, the highest first.
func (q Credentials) Under(ctx context.Context, s Scope, ids ...string) ([]models.Credential, error) {
	var rows []models.Credential
	err := q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and issuers && ? and revoked_at is null", s.Tenant, s.Environment, models.Strings(ids)).
		Order("cardinality(issuers), id").Find(&rows).Error
	return rows, err
}

// LapseOf selects credentials: those of a person, or those of an environment.
type LapseOf struct{ Person, Environment string }

// Lapse computes when the credentials end that staff of an identity provider issued, directly or not, after a sign-in or a change of the
// environment's setting, and notifies every process of those that end at a different time than before.
func (q Credentials) Lapse(ctx context.Context, tenant string, of LapseOf) error {
	var moved []string
	err := q.gorm(ctx).Raw(`with due as (select c.id, case when e.federated_key_days > 0
				then coalesce(p.signed_in_at, p.created_at) + make_interval(days => e.federated_key_days) end as at
			from credentials c join environments e on e.id = c.environment_id join credentials root on root.id = coalesce(c.issuers[1], c.id)
			join people p on 'person:' || p.id = root.created_by
			where c.tenant_id = @tenant and p.tenant_id = @tenant and p.identity_provider_id is not null and c.revoked_at is null
				and (p.id = @person or c.environment_id = @environment))
		update credentials c set lapses_at = due.at from due where c.id = due.id and c.tenant_id = @tenant and c.lapses_at is distinct from due.at returning c.id`,
		map[string]any{"tenant": tenant, "person": of.Person, "environment": of.Environment}).Find(&moved).Error
	if err != nil {
		return err
	}
	return q.notifyEach(ctx, moved)
}

// Orphans returns the credentials of the scope that are in force at a time although what they rest on is not: an issuer that is revoked, has
// ended or is missing, or a person who is revoked, missing or no operator of the environment.
func (q Credentials) Orphans(ctx context.Context, s Scope, at time.Time) ([]models.Credential, error) {
	var rows []models.Credential
	err := q.gorm(ctx).Raw(`select c.* from credentials c left join credentials root on root.id = coalesce(c.issuers[1], c.id)
		where c.tenant_id = @tenant and c.environment_id = @environment and c.revoked_at is null and (c.ends_at is null or c.ends_at > @at)
			and (cardinality(c.issuers) <> (select count(*) from credentials i where i.environment_id = @environment and i.id = any(c.issuers)
					and i.revoked_at is null and (i.ends_at is null or i.ends_at > @at))
				or root.created_by like 'person:%' and not exists (select from people p join person_roles r on r.person_id = p.id
					where 'person:' || p.id = root.created_by and p.tenant_id = @tenant and p.revoked_at is null
					and r.environment_id = @environment and r.role = 'operator'))
		order by cardinality(c.issuers), c.id`, map[string]any{"tenant": s.Tenant, "environment": s.Environment, "at": at}).Find(&rows).Error
	return rows, err
}

// Issued returns the credentials of the scope that a person issued directly and that are not revoked. Linked accounts count as one principal,
// but the authority of a key ends with the account that issued it.
func (q Credentials) Issued(ctx context.Context, s Scope, person string) ([]models.Credential, error) {
	var rows []models.Credential
	err := q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and created_by = ? and cardinality(issuers) = 0 and revoked_at is null",
		s.Tenant, s.Environment, actorPerson+person).Order("id").Find(&rows).Error
	return rows, err
}

// Give puts the credentials that rest on one under another issuer, whose principal they have from then on, and notifies every process.
func (q Credentials) Give(ctx context.Context, s Scope, from string, to models.Credential) error {
	var given []string
	err := q.gorm(ctx).Raw(`update credentials set issuers = @issuers || issuers[array_position(issuers, @from) + 1:],
			principal = @principal, former_principal = case when principal <> @principal then principal else former_principal end, lapses_at = @lapses
		where tenant_id = @tenant and environment_id = @environment and @from = any(issuers) and revoked_at is null returning id`,
		map[string]any{
			"issuers": append(append(models.Strings{}, to.Issuers...), to.ID), "from": from, "principal": to.Principal, "lapses": to.LapsesAt,
			"tenant": s.Tenant, "environment": s.Environment,
		}).Find(&given).Error
	if err != nil {
		return err
	}
	return q.notifyEach(ctx, given)
}

func (q Credentials) notifyEach(ctx context.Context, ids []string) error {
	for _, id := range ids {
		if err := q.Notify(ctx, ChannelCredential, id); err != nil {
			return err
		}
	}
	return nil
}

// List lists the scope's credentials, newest first.
func (q Credentials) List(ctx context.Context, s Scope, p Page) ([]models.Credential, string, error) {
	tx, err := paginate(q.gorm(ctx).Where("tenant_id = ? and environment_id = ?", s.Tenant, s.Environment), p, "created_at", "id")
	if err != nil {
		return nil, "", err
	}
	var rows []models.Credential
	if err := tx.Find(&rows).Error; err != nil {
		return nil, "", err
	}
	rows, next := cutPage(rows, p, func(c models.Credential) (time.Time, string) { return c.CreatedAt, c.ID })
	return rows, next, nil
}

// Revoke revokes credentials with all that rest on them and notifies every process. It returns those that were not revoked before, the
// highest first. The caller has locked them.
func (q Credentials) Revoke(ctx context.Context, s Scope, ids []string, at time.Time) ([]models.Credential, error) {
	var ended []models.Credential
	err := q.gorm(ctx).Raw(`with ended as (update credentials set revoked_at = @at
			where tenant_id = @tenant and environment_id = @environment and revoked_at is null and (id = any(@ids) or issuers && @ids) returning *)
		select * from ended order by cardinality(issuers), id`,
		map[string]any{"ids": models.Strings(ids), "at": at, "tenant": s.Tenant, "environment": s.Environment}).Find(&ended).Error
	if err != nil {
		return nil, err
	}
	all := make([]string, len(ended))
	for i, c := range ended {
		all[i] = c.ID
	}
	return ended, q.notifyEach(ctx, all)
}

// RotateKey adds a key and lets the other keys of the credential expire at overlapEnds. It returns false and changes
// nothing while an earlier rotation still overlaps.
func (q Credentials) RotateKey(ctx context.Context, k models.CredentialKey, preview string, overlapEnds time.Time) (bool, error) {
	if _, err := q.exec(ctx, "delete from credential_keys where credential_id = $1 and expires_at <= $2", k.CredentialID, k.CreatedAt); err != nil {
		return false, err
	}
	// The update locks the credential, so that the second of two concurrent rotations sees the first.
	n, err := q.exec(ctx, `update credentials c set preview = $2 where id = $1 and revoked_at is null
		and not exists (select 1 from credential_keys where credential_id = c.id and expires_at is not null)`, k.CredentialID, preview)
	if err != nil || n == 0 {
		return false, err
	}
	if _, err := q.exec(ctx, "update credential_keys set expires_at = $2 where credential_id = $1", k.CredentialID, overlapEnds); err != nil {
		return false, err
	}
	if err := q.gorm(ctx).Create(&k).Error; err != nil {
		return false, err
	}
	return true, q.Notify(ctx, ChannelCredential, k.CredentialID)
}

// RateLimits returns the scope's keys that are valid at the time, with what their quotas follow from only. Publishable keys are
// no servers'.
func (q Credentials) RateLimits(ctx context.Context, s Scope, at time.Time) ([]models.Credential, error) {
	var rows []models.Credential
	err := q.gorm(ctx).Raw(`select distinct rate_limit, created_by from credentials where tenant_id = ? and environment_id = ?
		and scope <> 'client' and revoked_at is null and (ends_at is null or ends_at > ?)`, s.Tenant, s.Environment, at).Find(&rows).Error
	return rows, err
}

// Touch records that a credential was used at a time, at most once in 15 minutes.
func (q Credentials) Touch(ctx context.Context, id string, at time.Time) error {
	_, err := q.exec(ctx, `update credentials set last_used_at = $2
		where id = $1 and (last_used_at is null or last_used_at < $2::timestamptz - interval '15 minutes')`, id, at)
	return err
}

// SetRateLimit overrides the quota of a credential, in requests an hour.
func (q Credentials) SetRateLimit(ctx context.Context, s Scope, id string, limit int) error {
	_, err := q.exec(ctx, "update credentials set rate_limit = $4 where tenant_id = $1 and environment_id = $2 and id = $3",
		s.Tenant, s.Environment, id, limit)
	return err
}
