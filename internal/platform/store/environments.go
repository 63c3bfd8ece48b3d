package store

import (
	"context"
	"errors"

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

// List returns the environments of a tenant, or of all tenants if tenant is empty (for jobs and the CLI only).
func (q Environments) List(ctx context.Context, tenant string) ([]models.Environment, error) {
	var rows []models.Environment
	tx := q.gorm(ctx).Order("created_at, id")
	if tenant != "" {
		tx = tx.Where("tenant_id = ?", tenant)
	}
	err := tx.Find(&rows).Error
	return rows, err
}

// Get returns the environment of the scope.
func (q Environments) Get(ctx context.Context, s Scope) (models.Environment, error) {
	var e models.Environment
	return orNotFound(e, q.gorm(ctx).Where("tenant_id = ? and id = ?", s.Tenant, s.Environment).Take(&e).Error)
}

// Branded returns the environment of the scope with its brand and the rules of its passkeys.
func (q Environments) Branded(ctx context.Context, s Scope) (models.Environment, error) {
	e, err := q.Get(ctx, s)
	if err != nil {
		return e, err
	}
	e.Brand, err = orNotFound(e.Brand, q.gorm(ctx).Table("environment_brands").Where("tenant_id = ? and environment_id = ?", s.Tenant, s.Environment).
		Take(&e.Brand).Error)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return e, err
	}
	if e.Passkeys, err = q.PasskeyRules(ctx, s); err != nil {
		return e, err
	}
	e.Passkeys.Given, err = q.Tenants().RPIDs(ctx, s.Tenant)
	return e, err
}

// SetBrand stores the brand of e.
func (q Environments) SetBrand(ctx context.Context, e models.Environment) error {
	_, err := q.exec(ctx, `insert into environment_brands (environment_id, tenant_id, name, accent, language, logo)
		values ($1, $2, $3, $4, $5, $6) on conflict (environment_id) do update set name = excluded.name, accent = excluded.accent,
		language = excluded.language, logo = excluded.logo where environment_brands.tenant_id = $2`,
		e.ID, e.TenantID, e.Brand.Name, e.Brand.Accent, e.Brand.Language, e.Brand.Logo)
	return err
}

// Lock is Branded, and locks the settings until the transaction ends.
func (q Environments) Lock(ctx context.Context, s Scope) (models.Environment, error) {
	if _, err := q.exec(ctx, "select from environments where tenant_id = $1 and id = $2 for no key update", s.Tenant, s.Environment); err != nil {
		return models.Environment{}, err
	}
	return q.Branded(ctx, s)
}

// SetRP stores the relying party id and origins for WebAuthn.
func (q Environments) SetRP(ctx context.Context, s Scope, rpID string, origins []string) error {
	_, err := q.exec(ctx, "update environments set rp_id = $3, rp_origins = $4 where tenant_id = $1 and id = $2",
		s.Tenant, s.Environment, rpID, models.Strings(origins))
	return q.notifyChange(ctx, s.Environment, err)
}

// SetSettings stores the settings of e that its relying party may change.
func (q Environments) SetSettings(ctx context.Context, e models.Environment) error {
	_, err := q.exec(ctx, `update environments set rp_name = $3, rp_origins = $4, challenge_ttl_seconds = $5, hold_ttl_seconds = $6,
		enrollment_grant_required = $7, bar_self_review = $8, second_approver_required = $9, change_ttl_seconds = $10, background = $11,
		review_notes = $12, case_link = $13, federated_key_days = $14
		where tenant_id = $1 and id = $2`, e.TenantID, e.ID, e.RPName, e.RPOrigins, e.ChallengeTTLSeconds, e.HoldTTLSeconds,
		e.EnrollmentGrantRequired, e.BarSelfReview, e.SecondApproverRequired, e.ChangeTTLSeconds, e.Background, e.ReviewNotes, e.CaseLink, e.FederatedKeyDays)
	return q.notifyChange(ctx, e.ID, err)
}

// SetPages stores the settings of e for the hosted pages.
func (q Environments) SetPages(ctx context.Context, e models.Environment) error {
	_, err := q.exec(ctx, `update environments set page_origin = $3, return_origins = $4, frame_ancestors = $5
		where tenant_id = $1 and id = $2`, e.TenantID, e.ID, e.PageOrigin, e.ReturnOrigins, e.FrameAncestors)
	return q.notifyChange(ctx, e.ID, err)
}

// notifyChange notifies every process of a change of the environment, unless the change failed with err.
func (q Environments) notifyChange(ctx context.Context, id string, err error) error {
	if err != nil {
		return err
	}
	return q.Notify(ctx, ChannelEnvironment, id)
}

// All returns the scope of every environment, by environment id.
func (q Environments) All(ctx context.Context) ([]Scope, error) {
	var rows []Scope
	err := q.gorm(ctx).Raw("select tenant_id as tenant, id as environment from environments order by id").Find(&rows).Error
	return rows, err
}

// SetRateLimits stores the rate limit and the ceiling of e.
func (q Environments) SetRateLimits(ctx context.Context, e models.Environment) error {
	_, err := q.exec(ctx, "update environments set rate_limit = $3, rate_limit_ceiling = $4 where tenant_id = $1 and id = $2",
		e.TenantID, e.ID, e.RateLimit, e.RateLimitCeiling)
	return err
}
