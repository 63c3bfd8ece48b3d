package store

import (
	"context"

	"github.com/countersign-dev/countersign/models"
)

// RPIDs returns the RP IDs that are given to a tenant, sorted.
func (q Tenants) RPIDs(ctx context.Context, tenant string) (models.Strings, error) {
	var found struct{ Given models.Strings }
	err := q.gorm(ctx).Raw("select coalesce(array_agg(rp_id order by rp_id), '{}') as given from rp_ids where tenant_id = ?", tenant).Find(&found).Error
	return found.Given, err
}

// GiveRPID gives an RP ID to a tenant and returns the tenant that has it: a different one if it was given before.
func (q Tenants) GiveRPID(ctx context.Context, tenant, rpID string) (owner string, err error) {
	if _, err := q.exec(ctx, "insert into rp_ids (rp_id, tenant_id) values ($1, $2) on conflict do nothing", rpID, tenant); err != nil {
		return "", err
	}
	err = q.queryRow(ctx, "select tenant_id from rp_ids where rp_id = $1", rpID).Scan(&owner)
	return owner, err
}

// TakeRPID takes an RP ID from a tenant unless one of its environments uses it, and reports whether it did.
func (q Tenants) TakeRPID(ctx context.Context, tenant, rpID string) (bool, error) {
	n, err := q.exec(ctx, `delete from rp_ids where tenant_id = $1 and rp_id = $2
		and not exists (select from environments e left join environment_passkeys p on p.environment_id = e.id
			where e.tenant_id = $1 and (e.rp_id = $2 or $2 = any (p.rp_ids)))`, tenant, rpID)
	return n > 0, err
}
