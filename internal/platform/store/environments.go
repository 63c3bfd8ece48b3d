package store

import (
	"context"

	"github.com/countersign-dev/countersign/models"
)

// Environments stores environments and their settings.
type Environments struct{ *Q }

// Environments returns the queries of the aggregate.
func (q *Q) Environments() Environments { return Environments{q} }

// Create inserts an environment.
func (q Environments) Create(ctx context.Context, e models.Environment) error {
	return q.gorm(ctx).Create(&e).Error
}

// List lists a tenant's environments; all tenants' where tenant is empty (for jobs and the CLI only).
func (q Environments) List(ctx context.Context, tenant string) ([]models.Environment, error) {
	var rows []models.Environment
	tx := q.gorm(ctx).Order("created_at, id")
	if tenant != "" {
		tx = tx.Where("tenant_id = ?", tenant)
	}
	err := tx.Find(&rows).Error
	return rows, err
}

// Get is the scope's own row.
func (q Environments) Get(ctx context.Context, s Scope) (models.Environment, error) {
	var e models.Environment
	return one(e, q.gorm(ctx).Where("tenant_id = ? and id = ?", s.Tenant, s.Environment).Take(&e).Error)
}

// SetRP changes the relying party's WebAuthn settings.
func (q Environments) SetRP(ctx context.Context, s Scope, rpID string, origins []string) error {
	_, err := q.exec(ctx, "update environments set rp_id = $3, rp_origins = $4 where tenant_id = $1 and id = $2",
		s.Tenant, s.Environment, rpID, models.Strings(origins))
	return q.changed(ctx, s.Environment, err)
}

// SetSettings changes what a relying party may set of its environment to what e has.
func (q Environments) SetSettings(ctx context.Context, e models.Environment) error {
	_, err := q.exec(ctx, `update environments set rp_name = $3, rp_origins = $4, challenge_ttl_seconds = $5, hold_ttl_seconds = $6,
		enrollment_grant_required = $7, bar_self_review = $8 where tenant_id = $1 and id = $2`, e.TenantID, e.ID, e.RPName, e.RPOrigins,
		e.ChallengeTTLSeconds, e.HoldTTLSeconds, e.EnrollmentGrantRequired, e.BarSelfReview)
	return q.changed(ctx, e.ID, err)
}

// SetPages changes the settings of the hosted pages to those of e.
func (q Environments) SetPages(ctx context.Context, e models.Environment) error {
	_, err := q.exec(ctx, `update environments set page_origin = $3, return_origins = $4, frame_ancestors = $5
		where tenant_id = $1 and id = $2`, e.TenantID, e.ID, e.PageOrigin, e.ReturnOrigins, e.FrameAncestors)
	return q.changed(ctx, e.ID, err)
}

// changed tells the caches, unless the change failed.
func (q Environments) changed(ctx context.Context, id string, err error) error {
	if err != nil {
		return err
	}
	return q.Notify(ctx, ChannelEnvironment, id)
}

// All lists the scopes of the database, by id.
func (q Environments) All(ctx context.Context) ([]Scope, error) {
	var rows []Scope
	err := q.gorm(ctx).Raw("select tenant_id as tenant, id as environment from environments order by id").Scan(&rows).Error
	return rows, err
}
