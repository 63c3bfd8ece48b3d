package store

import (
	"context"
	"errors"

	"github.com/countersign-dev/countersign/models"
)

// PasskeyRules returns the rules of an environment's passkeys; without a row, none are set.
func (q Environments) PasskeyRules(ctx context.Context, s Scope) (models.PasskeyRules, error) {
	var r models.PasskeyRules
	r, err := orNotFound(r, q.gorm(ctx).Table("environment_passkeys").Where("tenant_id = ? and environment_id = ?", s.Tenant, s.Environment).Take(&r).Error)
	if errors.Is(err, ErrNotFound) {
		return models.PasskeyRules{Attestation: models.AttestationNone}, nil
	}
	return r, err
}

// SetPasskeyRules stores the rules of e's passkeys.
func (q Environments) SetPasskeyRules(ctx context.Context, e models.Environment) error {
	r := e.Passkeys
	_, err := q.exec(ctx, `insert into environment_passkeys (environment_id, tenant_id, rp_ids, related_origins, attestation, attestation_roots, aaguids)
		values ($1, $2, $3, $4, $5, $6, $7) on conflict (environment_id) do update set rp_ids = excluded.rp_ids,
		related_origins = excluded.related_origins, attestation = excluded.attestation, attestation_roots = excluded.attestation_roots,
		aaguids = excluded.aaguids where environment_passkeys.tenant_id = $2`,
		e.ID, e.TenantID, nonNil(r.RPIDs), nonNil(r.RelatedOrigins), r.Attestation, nonNil(r.AttestationRoots), nonNil(r.AAGUIDs))
	return err
}

func nonNil(s models.Strings) models.Strings {
	if s == nil {
		return models.Strings{}
	}
	return s
}

// RelatedOrigins returns the further origins that may use passkeys of an RP ID, sorted: those of the environments of the tenant that the
// RP ID is given to. It returns ErrNotFound if there are none.
func (q Environments) RelatedOrigins(ctx context.Context, rpID string) ([]string, error) {
	var found struct{ Origins models.Strings }
	err := q.gorm(ctx).Raw(`select coalesce(array_agg(distinct o order by o), '{}') as origins
		from rp_ids r join environments e on e.tenant_id = r.tenant_id
		join environment_passkeys p on p.environment_id = e.id, unnest(p.related_origins) o
		where r.rp_id = ? and (e.rp_id = r.rp_id or r.rp_id = any (p.rp_ids))`, rpID).Find(&found).Error
	if err == nil && len(found.Origins) == 0 {
		err = ErrNotFound
	}
	return found.Origins, err
}
