package tenancy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm/clause"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// LapseOf selects credentials: those of a person, or those of an environment.
type LapseOf struct{ Person, Environment string }

// LapseCredentials computes when the credentials end that staff of an identity provider issued, directly or not, after a sign-in or a change of the
// environment's setting, and notifies every process of those that end at a different time than before.
func LapseCredentials(ctx context.Context, q *pg.Q, tenant string, of LapseOf) error {
	var moved []struct {
		ID string
		At *time.Time
	}
	err := q.Gorm(ctx).Raw(`with due as (select c.id, case when e.federated_key_days > 0
				then coalesce(p.signed_in_at, p.created_at) + make_interval(days => e.federated_key_days) end as at
			from credentials c join environments e on e.id = c.environment_id join credentials root on root.id = coalesce(c.issuers[1], c.id)
			join people p on 'person:' || p.id = root.created_by
			where c.tenant_id = @tenant and p.tenant_id = @tenant and p.identity_provider_id is not null and c.revoked_at is null
				and (p.id = @person or c.environment_id = @environment))
		select c.id, due.at from credentials c join due on c.id = due.id where c.tenant_id = @tenant and c.lapses_at is distinct from due.at order by c.id`,
		map[string]any{"tenant": tenant, "person": of.Person, "environment": of.Environment}).Find(&moved).Error
	if err != nil {
		return err
	}
	for _, c := range moved {
		of := map[string]any{"tenant": tenant, "id": c.ID, "at": c.At}
		if _, err := ChangeCredentials(ctx, q, "tenant_id = @tenant and id = @id", "lapses_at = @at", of); err != nil {
			return err
		}
	}
	return nil
}

// ChangeCredentials changes credentials as pg.Change does, and notifies the caches of all processes.
func ChangeCredentials(ctx context.Context, q *pg.Q, where, set string, args map[string]any) ([]models.Credential, error) {
	changed, err := pg.Change[models.Credential](ctx, q, where, set, args)
	if err != nil {
		return nil, err
	}
	for _, c := range changed {
		if err := q.Notify(ctx, pg.ChannelCredential, c.ID); err != nil {
			return nil, err
		}
	}
	return changed, nil
}

// CreateEnvironment inserts an environment with the rules of its passkeys.
func CreateEnvironment(ctx context.Context, q *pg.Q, e models.Environment) error {
	e.ChangeTTLSeconds = cmp.Or(e.ChangeTTLSeconds, models.DefaultSettings(e.Kind).ChangeTTLSeconds)
	e.Background = cmp.Or(e.Background, models.BackgroundPrior)
	if err := q.Gorm(ctx).Create(&e).Error; err != nil {
		return err
	}
	e.Passkeys.Attestation = cmp.Or(e.Passkeys.Attestation, models.AttestationNone)
	return setPasskeyRules(ctx, q, e)
}

// ListEnvironments returns the environments of a tenant, or of all tenants if tenant is empty (for jobs and the CLI only). Their rows are
// not checked: what rests on a setting reads it by GetEnvironment.
func ListEnvironments(ctx context.Context, q *pg.Q, tenant string) ([]models.Environment, error) {
	var rows []models.Environment
	tx := pg.Unchecked(q.Gorm(ctx)).Order("created_at, id")
	if tenant != "" {
		tx = tx.Where("tenant_id = ?", tenant)
	}
	err := tx.Find(&rows).Error
	return rows, err
}

// GetEnvironment returns the environment of the scope.
func GetEnvironment(ctx context.Context, q *pg.Q, s pg.Scope) (models.Environment, error) {
	var e models.Environment
	return pg.OrNotFound(e, q.Gorm(ctx).Where("tenant_id = ? and id = ?", s.Tenant, s.Environment).Take(&e).Error)
}

// BrandedEnvironment returns the environment of the scope with its brand and the rules of its passkeys.
func BrandedEnvironment(ctx context.Context, q *pg.Q, s pg.Scope) (models.Environment, error) {
	e, err := GetEnvironment(ctx, q, s)
	if err != nil {
		return e, err
	}
	e.Brand, err = pg.OrNotFound(e.Brand, q.Gorm(ctx).Table("environment_brands").Where("tenant_id = ? and environment_id = ?", s.Tenant, s.Environment).
		Take(&e.Brand).Error)
	if err != nil && !errors.Is(err, pg.ErrNotFound) {
		return e, err
	}
	if e.Passkeys, err = PasskeyRules(ctx, q, s); err != nil {
		return e, err
	}
	e.Passkeys.Given, err = RPIDsOfTenant(ctx, q, s.Tenant)
	return e, err
}

func setBrand(ctx context.Context, q *pg.Q, e models.Environment) error {
	_, err := q.Exec(ctx, `insert into environment_brands (environment_id, tenant_id, name, accent, language, logo)
		values ($1, $2, $3, $4, $5, $6) on conflict (environment_id) do update set name = excluded.name, accent = excluded.accent,
		language = excluded.language, logo = excluded.logo where environment_brands.tenant_id = $2`,
		e.ID, e.TenantID, e.Brand.Name, e.Brand.Accent, e.Brand.Language, e.Brand.Logo)
	return err
}

// LockEnvironment is Branded, and locks the settings until the transaction ends.
func LockEnvironment(ctx context.Context, q *pg.Q, s pg.Scope) (models.Environment, error) {
	if _, err := q.Exec(ctx, "select from environments where tenant_id = $1 and id = $2 for no key update", s.Tenant, s.Environment); err != nil {
		return models.Environment{}, err
	}
	return BrandedEnvironment(ctx, q, s)
}

// SetRP stores the relying party id and origins for WebAuthn.
func SetRP(ctx context.Context, q *pg.Q, s pg.Scope, rpID string, origins []string) error {
	return changeEnvironment(ctx, q, "rp_id = @RPID, rp_origins = @RPOrigins",
		models.Environment{ID: s.Environment, TenantID: s.Tenant, RPID: rpID, Settings: models.Settings{RPOrigins: origins}})
}

// setSettings stores the settings of e that its relying party may change.
func setSettings(ctx context.Context, q *pg.Q, e models.Environment) error {
	var set []string
	for _, s := range models.DeclaredSettings {
		set = append(set, s.Column()+" = @"+s.Field())
	}
	return changeEnvironment(ctx, q, strings.Join(set, ", "), e)
}

// setRateLimits stores the rate limit and the ceiling of e.
func setRateLimits(ctx context.Context, q *pg.Q, e models.Environment) error {
	return changeEnvironment(ctx, q, "rate_limit = @RateLimit, rate_limit_ceiling = @RateLimitCeiling", e)
}

// changeEnvironment sets columns of an environment to the values of e and notifies every process.
func changeEnvironment(ctx context.Context, q *pg.Q, set string, e models.Environment) error {
	if _, err := pg.Change[models.Environment](ctx, q, "tenant_id = @TenantID and id = @ID", set, e); err != nil {
		return err
	}
	return q.Notify(ctx, pg.ChannelEnvironment, e.ID)
}

// AllEnvironments returns the scope of every environment, by environment id.
func AllEnvironments(ctx context.Context, q *pg.Q) ([]pg.Scope, error) {
	var rows []pg.Scope
	err := q.Gorm(ctx).Raw("select tenant_id as tenant, id as environment from environments order by id").Find(&rows).Error
	return rows, err
}

// ResetLearned deletes the sums of a modality and who is counted in them, so that all people are counted anew.
func ResetLearned(ctx context.Context, q *pg.Q, s pg.Scope, modality string) error {
	for _, table := range []string{"background_shares", "background_sums"} {
		if _, err := q.Exec(ctx, "delete from "+table+" where tenant_id = $1 and environment_id = $2 and modality = $3", s.Tenant, s.Environment, modality); err != nil {
			return err
		}
	}
	return nil
}

// RetireLearned retires the background of a modality and notifies every process. It returns its version, or ErrNotFound if none is in
// force.
func RetireLearned(ctx context.Context, q *pg.Q, s pg.Scope, modality string, at time.Time) (string, error) {
	var version string
	err := q.QueryRow(ctx, `update environment_backgrounds set status = 'retired', retired_at = $4
		where tenant_id = $1 and environment_id = $2 and modality = $3 and status = 'active' returning version`, s.Tenant, s.Environment, modality, at).Scan(&version)
	if version, err = pg.OrNotFound(version, err); err != nil {
		return "", err
	}
	return version, q.Notify(ctx, pg.ChannelBackground, version)
}

// PasskeyRules returns the rules of an environment's passkeys.
func PasskeyRules(ctx context.Context, q *pg.Q, s pg.Scope) (models.PasskeyRules, error) {
	var r models.EnvironmentPasskeys
	r, err := pg.OrNotFound(r, q.Gorm(ctx).Where(pg.InScope, s.Tenant, s.Environment).Take(&r).Error)
	if errors.Is(err, pg.ErrNotFound) {
		err = q.Missing(s, r.TableName(), s.Environment)
	}
	return r.PasskeyRules, err
}

// setPasskeyRules stores the rules of e's passkeys.
func setPasskeyRules(ctx context.Context, q *pg.Q, e models.Environment) error {
	r := models.EnvironmentPasskeys{EnvironmentID: e.ID, TenantID: e.TenantID, PasskeyRules: e.Passkeys}
	for _, list := range []*models.Strings{&r.RPIDs, &r.RelatedOrigins, &r.AttestationRoots, &r.AAGUIDs} {
		if *list == nil {
			*list = models.Strings{}
		}
	}
	return q.Gorm(ctx).Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "environment_id"}}, UpdateAll: true}).Create(&r).Error
}

// RelatedOrigins returns the further origins that may use passkeys of an RP ID, sorted: those of the environments of the tenant that the
// RP ID is given to. It returns ErrNotFound if there are none.
func RelatedOrigins(ctx context.Context, q *pg.Q, rpID string) ([]string, error) {
	var owner models.RPID
	owner, err := pg.OrNotFound(owner, q.Gorm(ctx).Where("rp_id = ?", rpID).Take(&owner).Error)
	if err != nil {
		return nil, err
	}
	var environments []models.Environment
	if err := q.Gorm(ctx).Where("tenant_id = ?", owner.TenantID).Find(&environments).Error; err != nil {
		return nil, err
	}
	var found []string
	for _, e := range environments {
		rules, err := PasskeyRules(ctx, q, pg.Scope{Tenant: e.TenantID, Environment: e.ID})
		if err != nil {
			return nil, err
		}
		if slices.Contains(rules.RPIDsOf(e), rpID) {
			found = append(found, rules.RelatedOrigins...)
		}
	}
	if len(found) == 0 {
		return nil, pg.ErrNotFound
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// RPIDsOfTenant returns the RP IDs that are given to a tenant, sorted.
func RPIDsOfTenant(ctx context.Context, q *pg.Q, tenant string) (models.Strings, error) {
	var rows []models.RPID
	err := q.Gorm(ctx).Where("tenant_id = ?", tenant).Order("rp_id").Find(&rows).Error
	given := make(models.Strings, len(rows))
	for i, r := range rows {
		given[i] = r.RPID
	}
	return given, err
}

// TenantOfHost returns the tenant whose RP ID covers a host, the longest if there are several, or else the only tenant of the service; empty for
// neither.
func TenantOfHost(ctx context.Context, q *pg.Q, host string) (tenant string, err error) {
	err = q.QueryRow(ctx, `select coalesce((select tenant_id from rp_ids where right('.' || $1, length(rp_id) + 1) = '.' || rp_id
			order by length(rp_id) desc limit 1), (select min(id) from tenants having count(*) = 1), '')`, host).Scan(&tenant)
	return tenant, err
}

// giveRPID gives an RP ID to a tenant and returns the tenant that has it: a different one if it was given before.
func giveRPID(ctx context.Context, q *pg.Q, tenant, rpID string) (owner string, err error) {
	row := models.RPID{RPID: rpID, TenantID: tenant}
	if err := q.Gorm(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&row).Error; err != nil {
		return "", err
	}
	row = models.RPID{}
	err = q.Gorm(ctx).Where("rp_id = ?", rpID).Take(&row).Error
	return row.TenantID, err
}

// takeRPID takes an RP ID from a tenant unless one of its environments uses it, and reports whether it did.
func takeRPID(ctx context.Context, q *pg.Q, tenant, rpID string) (bool, error) {
	taken, err := pg.Remove[models.RPID](ctx, q, `tenant_id = @tenant and rp_id = @id
		and not exists (select from environments e left join environment_passkeys p on p.environment_id = e.id
			where e.tenant_id = @tenant and (e.rp_id = @id or @id = any (p.rp_ids)))`, map[string]any{"tenant": tenant, "id": rpID})
	return len(taken) > 0, err
}

// CreateTenant inserts a tenant.
func CreateTenant(ctx context.Context, q *pg.Q, t models.Tenant) error {
	return q.Gorm(ctx).Create(&t).Error
}

// ListTenants lists the tenants, oldest first.
func ListTenants(ctx context.Context, q *pg.Q) ([]models.Tenant, error) {
	var rows []models.Tenant
	err := q.Gorm(ctx).Order("created_at, id").Find(&rows).Error
	return rows, err
}

// lockTenant locks a tenant's row, so that concurrent deletions run one after the other.
func lockTenant(ctx context.Context, q *pg.Q, id string) (models.Tenant, error) {
	var t models.Tenant
	return pg.OrNotFound(t, q.Gorm(ctx).Raw("select * from tenants where id = ? for no key update", id).Take(&t).Error)
}

// ListDeleted lists the tenants that were deleted, oldest first.
func ListDeleted(ctx context.Context, q *pg.Q) ([]models.DeletedTenant, error) {
	var rows []models.DeletedTenant
	err := q.Gorm(ctx).Order("deleted_at, id").Find(&rows).Error
	return rows, err
}

// recordDeleted records that a tenant was deleted.
func recordDeleted(ctx context.Context, q *pg.Q, t models.DeletedTenant) error {
	return q.Gorm(ctx).Create(&t).Error
}

// takeDeleted deletes and returns the record of the deletion of a tenant; an empty one if there is none.
func takeDeleted(ctx context.Context, q *pg.Q, id string) (models.DeletedTenant, error) {
	var rows []models.DeletedTenant
	err := q.Gorm(ctx).Raw("delete from deleted_tenants where id = ? returning *", id).Find(&rows).Error
	return append(rows, models.DeletedTenant{})[0], err
}

// continueLog makes the next entries of an environment follow its log, which another server may have numbered.
func continueLog(ctx context.Context, q *pg.Q, environment string) error {
	_, err := q.Exec(ctx, `select setval('events_seq_seq', e.seq) from (select max(seq) as seq from events where environment_id = $1) e, events_seq_seq s
		where e.seq > s.last_value`, environment)
	return err
}

// inUse are the records of a tenant that a caller or a workflow still uses.
var inUse = []struct{ what, query string }{
	{"active API keys", "select count(*) from credentials where tenant_id = $1 and environment_id = $2 and revoked_at is null and (expires_at is null or expires_at > now())"},
	{"open challenges", "select count(*) from challenges where tenant_id = $1 and environment_id = $2 and status = 'open'"},
	{"pending holds", "select count(*) from holds where tenant_id = $1 and environment_id = $2 and status = 'pending'"},
	{"pending enrollments", "select count(*) from enrollments where tenant_id = $1 and environment_id = $2 and status = 'pending'"},
	{"recoveries in progress", "select count(*) from recoveries where tenant_id = $1 and environment_id = $2 and status in ('pending', 'cooling_down', 'ready')"},
	{"erasures in progress", "select count(*) from erasures where tenant_id = $1 and environment_id = $2 and status = 'erasing'"},
	{"pending change requests", "select count(*) from changes where tenant_id = $1 and environment_id = $2 and status = 'pending'"},
	{"webhook endpoints", "select count(*) from webhook_endpoints where tenant_id = $1 and environment_id = $2 and deleted_at is null"},
}

// tenantInUse describes the records that a caller or a workflow still uses, such as "2 pending holds". Deleting them would leave
// workflows that retry without end.
func tenantInUse(ctx context.Context, q *pg.Q, environments []models.Environment) ([]string, error) {
	var out []string
	for _, u := range inUse {
		total := 0
		for _, e := range environments {
			var n int
			if err := q.QueryRow(ctx, u.query, e.TenantID, e.ID).Scan(&n); err != nil {
				return nil, err
			}
			total += n
		}
		if total > 0 {
			out = append(out, fmt.Sprintf("%d %s", total, u.what))
		}
	}
	return out, nil
}
