package identity

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"gorm.io/gorm/clause"

	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// ChangeRight is the right to change the configuration: of credentials with one of the scopes and the permission.
type ChangeRight struct {
	Scopes     []string
	Permission models.Permission
	Approves   bool // to approve a change, which a credential that was given to a different principal may not
}

// MayChangePrincipal reports whether an actor may change the configuration of the environment at a time: a credential with the right that
// is neither revoked nor expired, a person who is an operator of the environment, or a command of the operator of the service.
func MayChangePrincipal(ctx context.Context, q *pg.Q, s pg.Scope, actor string, r ChangeRight, at time.Time) (bool, error) {
	if strings.HasPrefix(actor, "cli:") {
		return true, nil
	}
	if id, ok := strings.CutPrefix(actor, actorPerson); ok {
		p, err := personOf(ctx, q, s.Tenant, id)
		if errors.Is(err, pg.ErrNotFound) || p.RevokedAt != nil {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		roles, err := RolesIn(ctx, q, id, s.Environment)
		return slices.Contains(roles, models.RoleOperator), err
	}
	id, ok := strings.CutPrefix(actor, actorCredential)
	if !ok {
		return false, nil
	}
	c, err := getCredential(ctx, q, s, id)
	if errors.Is(err, pg.ErrNotFound) {
		return false, nil
	}
	return err == nil && c.Lives(at) && slices.Contains(r.Scopes, string(c.Scope)) && (!r.Approves || c.FormerPrincipal == nil) && c.Permissions.Has(r.Permission), err
}

// personOf returns a person of the tenant, revoked or not.
func personOf(ctx context.Context, q *pg.Q, tenant, id string) (models.Person, error) {
	var p models.Person
	return pg.OrNotFound(p, q.Gorm(ctx).Where("tenant_id = ? and id = ?", tenant, id).Take(&p).Error)
}

// CheckActors reads the rows that say who actors of an environment are and what they may do, which fails if one was altered (pg.Altered). It is for
// what counts them by SQL, which does not check rows.
func CheckActors(ctx context.Context, q *pg.Q, s pg.Scope, actors []string) error {
	var credentials, people []string
	for _, actor := range actors {
		if id, ok := strings.CutPrefix(actor, actorCredential); ok {
			credentials = append(credentials, id)
		} else if id, ok := strings.CutPrefix(actor, actorPerson); ok {
			people = append(people, id)
		}
	}
	if len(credentials) > 0 {
		if err := q.Gorm(ctx).Where(pg.InScope+" and id in ?", s.Tenant, s.Environment, credentials).Find(&[]models.Credential{}).Error; err != nil {
			return err
		}
	}
	if len(people) == 0 {
		return nil
	}
	if err := q.Gorm(ctx).Where("tenant_id = ? and id in ?", s.Tenant, people).Find(&[]models.Person{}).Error; err != nil {
		return err
	}
	return q.Gorm(ctx).Where("environment_id = ? and person_id in ?", s.Environment, people).Find(&[]models.PersonRole{}).Error
}

func createClientToken(ctx context.Context, q *pg.Q, t models.ClientToken) error {
	return q.Gorm(ctx).Create(&t).Error
}

// clientTokenByMAC returns a client token with the credential that issued it and its environment. It returns expired and revoked
// tokens too.
func clientTokenByMAC(ctx context.Context, q *pg.Q, macs [][]byte) (t models.ClientToken, issuer models.Credential, e models.Environment, err error) {
	if t, err = pg.OrNotFound(t, q.Gorm(ctx).Where("mac in ?", macs).Take(&t).Error); err != nil {
		return t, issuer, e, err
	}
	scope := pg.Scope{Tenant: t.TenantID, Environment: t.EnvironmentID}
	if issuer, err = getCredential(ctx, q, scope, t.CredentialID); err != nil {
		return t, issuer, e, err
	}
	e, err = tenancy.GetEnvironment(ctx, q, scope)
	return t, issuer, e, err
}

// RevokeClientTokensOfSubject revokes the client tokens of a subject of before a time, notifies every process and returns how many of them had not
// expired.
func RevokeClientTokensOfSubject(ctx context.Context, q *pg.Q, s pg.Scope, uid string, before, at time.Time) (held int, err error) {
	revoked, err := pg.Change[models.ClientToken](ctx, q, "subject_uid = @uid and tenant_id = @tenant and environment_id = @environment and revoked_at is null and created_at <= @before",
		"revoked_at = @at", map[string]any{"before": before, "at": at, "uid": uid, "tenant": s.Tenant, "environment": s.Environment})
	issuers := map[string]bool{}
	for _, t := range revoked {
		if at.Before(t.ExpiresAt) {
			held++
		}
		issuers[t.CredentialID] = true
	}
	for id := range issuers {
		err = errors.Join(err, q.Notify(ctx, pg.ChannelCredential, id))
	}
	return held, err
}

// DropClientTokens deletes at most limit client tokens that expired before t.
func DropClientTokens(ctx context.Context, q *pg.Q, t time.Time, limit int) (int64, error) {
	return q.Exec(ctx, `delete from client_tokens where (mac, environment_id) in (select mac, environment_id from client_tokens where expires_at < $1 limit $2)`, t, limit)
}

// createCredential inserts a credential with its first key.
func createCredential(ctx context.Context, q *pg.Q, c models.Credential, k models.CredentialKey) error {
	if err := q.Gorm(ctx).Create(&c).Error; err != nil {
		return err
	}
	return q.Gorm(ctx).Create(&k).Error
}

// credentialByMAC returns the credential with one of the MACs, its environment and its key. It returns expired and revoked
// credentials too: the caller distinguishes them.
func credentialByMAC(ctx context.Context, q *pg.Q, macs [][]byte) (models.Credential, models.Environment, models.CredentialKey, error) {
	var k models.CredentialKey
	if err := q.Gorm(ctx).Where("mac in ?", macs).Take(&k).Error; err != nil {
		_, err = pg.OrNotFound(k, err)
		return models.Credential{}, models.Environment{}, k, err
	}
	var c models.Credential
	if err := q.Gorm(ctx).Where("id = ?", k.CredentialID).Take(&c).Error; err != nil {
		_, err = pg.OrNotFound(c, err)
		return c, models.Environment{}, k, err
	}
	e, err := tenancy.GetEnvironment(ctx, q, pg.Scope{Tenant: c.TenantID, Environment: c.EnvironmentID})
	return c, e, k, err
}

func getCredential(ctx context.Context, q *pg.Q, s pg.Scope, id string) (models.Credential, error) {
	var c models.Credential
	return pg.OrNotFound(c, q.Gorm(ctx).Where("tenant_id = ? and environment_id = ? and id = ?", s.Tenant, s.Environment, id).Take(&c).Error)
}

// CredentialLives reports whether a credential of the scope is in force at a time, and with it what it issued.
func CredentialLives(ctx context.Context, q *pg.Q, s pg.Scope, id string, at time.Time) (bool, error) {
	c, err := getCredential(ctx, q, s, id)
	if errors.Is(err, pg.ErrNotFound) {
		return false, nil
	}
	return c.Lives(at), err
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
		return models.Credential{}, pg.ErrNotFound
	}
	return c, nil
}

// lockCredential locks credentials of the scope and their issuers until the transaction ends. Those highest in a chain come first, as in every
// transaction, so that none waits for another in a circle.
func lockCredential(ctx context.Context, q *pg.Q, s pg.Scope, ids ...string) (Locked, error) {
	var rows []models.Credential
	err := q.Gorm(ctx).Raw(`select c.* from credentials c where c.tenant_id = @tenant and c.environment_id = @environment and (c.id = any(@ids)
			or exists (select from credentials l where l.id = any(@ids) and l.environment_id = @environment and c.id = any(l.issuers)))
		order by cardinality(c.issuers), c.id for no key update`,
		map[string]any{"ids": models.Strings(ids), "tenant": s.Tenant, "environment": s.Environment}).Find(&rows).Error
	out := Locked{}
	for _, c := range rows {
		out[c.ID] = c
	}
	return out, err
}

// credentialsUnder returns the credentials of the scope that rest on any of these and are not revoked, the highest first.
func credentialsUnder(ctx context.Context, q *pg.Q, s pg.Scope, ids ...string) ([]models.Credential, error) {
	var rows []models.Credential
	err := q.Gorm(ctx).Where("tenant_id = ? and environment_id = ? and issuers && ? and revoked_at is null", s.Tenant, s.Environment, models.Strings(ids)).
		Order("cardinality(issuers), id").Find(&rows).Error
	return rows, err
}

// orphanedCredentials returns the credentials of the scope that are in force at a time although what they rest on is not: an issuer that is revoked, has
// ended or is missing, or a person who is revoked, missing or no operator of the environment.
func orphanedCredentials(ctx context.Context, q *pg.Q, s pg.Scope, at time.Time) ([]models.Credential, error) {
	var rows []models.Credential
	err := pg.Unchecked(q.Gorm(ctx)).Raw(`select c.* from credentials c left join credentials root on root.id = coalesce(c.issuers[1], c.id)
		where c.tenant_id = @tenant and c.environment_id = @environment and c.revoked_at is null and (c.ends_at is null or c.ends_at > @at)
			and (cardinality(c.issuers) <> (select count(*) from credentials i where i.environment_id = @environment and i.id = any(c.issuers)
					and i.revoked_at is null and (i.ends_at is null or i.ends_at > @at))
				or root.created_by like 'person:%' and not exists (select from people p join person_roles r on r.person_id = p.id
					where 'person:' || p.id = root.created_by and p.tenant_id = @tenant and p.revoked_at is null
					and r.environment_id = @environment and r.role = 'operator'))
		order by cardinality(c.issuers), c.id`, map[string]any{"tenant": s.Tenant, "environment": s.Environment, "at": at}).Find(&rows).Error
	return rows, err
}

// issuedCredentials returns the credentials of the scope that a person issued directly and that are not revoked. Linked accounts count as one principal,
// but the authority of a key ends with the account that issued it.
func issuedCredentials(ctx context.Context, q *pg.Q, s pg.Scope, person string) ([]models.Credential, error) {
	var rows []models.Credential
	err := q.Gorm(ctx).Where("tenant_id = ? and environment_id = ? and created_by = ? and cardinality(issuers) = 0 and revoked_at is null",
		s.Tenant, s.Environment, actorPerson+person).Order("id").Find(&rows).Error
	return rows, err
}

// moveCredentials puts the credentials that rest on one under another issuer, whose principal they have from then on, and notifies every process.
func moveCredentials(ctx context.Context, q *pg.Q, s pg.Scope, from string, to models.Credential) error {
	_, err := tenancy.ChangeCredentials(ctx, q, "tenant_id = @tenant and environment_id = @environment and @from = any(issuers) and revoked_at is null",
		`issuers = @issuers || issuers[array_position(issuers, @from) + 1:], principal = @principal,
		former_principal = case when principal <> @principal then principal else former_principal end, lapses_at = @lapses`,
		map[string]any{
			"issuers": append(append(models.Strings{}, to.Issuers...), to.ID), "from": from, "principal": to.Principal, "lapses": to.LapsesAt,
			"tenant": s.Tenant, "environment": s.Environment,
		})
	return err
}

// listCredentials lists the scope's credentials, newest first.
func listCredentials(ctx context.Context, q *pg.Q, s pg.Scope, p pg.Page) ([]models.Credential, string, error) {
	tx, err := pg.Paginate(pg.Unchecked(q.Gorm(ctx)).Where("tenant_id = ? and environment_id = ?", s.Tenant, s.Environment), p, "created_at", "id")
	if err != nil {
		return nil, "", err
	}
	var rows []models.Credential
	if err := tx.Find(&rows).Error; err != nil {
		return nil, "", err
	}
	rows, next := pg.CutPage(rows, p, func(c models.Credential) (time.Time, string) { return c.CreatedAt, c.ID })
	return rows, next, nil
}

// revokeCredential revokes credentials with all that rest on them and notifies every process. It returns those that were not revoked before, the
// highest first. The caller has locked them.
func revokeCredential(ctx context.Context, q *pg.Q, s pg.Scope, ids []string, at time.Time) ([]models.Credential, error) {
	q = q.AsStored()
	ended, err := tenancy.ChangeCredentials(ctx, q,
		"tenant_id = @tenant and environment_id = @environment and revoked_at is null and (id = any(@ids) or issuers && @ids)", "revoked_at = @at",
		map[string]any{"ids": models.Strings(ids), "at": at, "tenant": s.Tenant, "environment": s.Environment})
	slices.SortFunc(ended, func(a, b models.Credential) int {
		return cmp.Or(cmp.Compare(len(a.Issuers), len(b.Issuers)), cmp.Compare(a.ID, b.ID))
	})
	return ended, err
}

// rotateKey adds a key and lets the other keys of the credential expire at overlapEnds. It returns false and changes
// nothing while an earlier rotation still overlaps. The caller must have locked the credential.
func rotateKey(ctx context.Context, q *pg.Q, k models.CredentialKey, preview string, overlapEnds time.Time) (bool, error) {
	if _, err := pg.Remove[models.CredentialKey](ctx, q, "credential_id = ? and expires_at <= ?", k.CredentialID, k.CreatedAt); err != nil {
		return false, err
	}
	n, err := q.Exec(ctx, `update credentials c set preview = $2 where id = $1 and revoked_at is null
		and not exists (select 1 from credential_keys where credential_id = c.id and expires_at is not null)`, k.CredentialID, preview)
	if err != nil || n == 0 {
		return false, err
	}
	if _, err := pg.Change[models.CredentialKey](ctx, q, "credential_id = @id", "expires_at = @at", map[string]any{"id": k.CredentialID, "at": overlapEnds}); err != nil {
		return false, err
	}
	if err := q.Gorm(ctx).Create(&k).Error; err != nil {
		return false, err
	}
	return true, q.Notify(ctx, pg.ChannelCredential, k.CredentialID)
}

// rateLimits returns the scope's keys that are valid at the time. Publishable keys are no servers'.
func rateLimits(ctx context.Context, q *pg.Q, s pg.Scope, at time.Time) ([]models.Credential, error) {
	var rows []models.Credential
	err := q.Gorm(ctx).Where(pg.InScope+" and scope <> 'client' and revoked_at is null and (ends_at is null or ends_at > ?)", s.Tenant, s.Environment, at).
		Find(&rows).Error
	return rows, err
}

// touchCredential records that a credential was used at a time, at most once in 15 minutes.
func touchCredential(ctx context.Context, q *pg.Q, id string, at time.Time) error {
	_, err := q.Exec(ctx, `update credentials set last_used_at = $2
		where id = $1 and (last_used_at is null or last_used_at < $2::timestamptz - interval '15 minutes')`, id, at)
	return err
}

// The prefixes of actors that have a principal of their own.
const (
	actorCredential = "credential:" // #nosec G101 -- the beginning of an actor, no secret
	actorPerson     = "person:"
)

// ErrNoPrincipal is returned for an actor that counts as no one, such as a client token.
var ErrNoPrincipal = errors.New("identity: the actor has no principal")

// PrincipalsBehind returns who is behind credentials, by credential id, as it is stored. All keys that one key issued are one principal with it, and those
// that a person issued are that person. A key made at the command line is a principal of its own, because it is given to one party. An
// unknown credential is its own principal.
func PrincipalsBehind(ctx context.Context, q *pg.Q, s pg.Scope, credentials []string) (map[string]Behind, error) {
	out := make(map[string]Behind, len(credentials))
	for _, id := range credentials {
		out[id] = Behind{Principal: actorCredential + id}
	}
	var rows []models.Credential
	err := q.Gorm(ctx).Where(pg.InScope+" and id in ?", s.Tenant, s.Environment, credentials).Find(&rows).Error
	for _, c := range rows {
		if c.Principal == "" {
			return nil, ErrNoPrincipal
		}
		b := Behind{Principal: c.Principal}
		if c.FormerPrincipal != nil {
			b.Former = *c.FormerPrincipal
		}
		out[c.ID] = b
	}
	if err != nil {
		return out, err
	}
	return out, addAccounts(ctx, q, s.Tenant, out)
}

// KeysOf returns the ids of the credentials of an environment that are or were of a principal, for display only.
func KeysOf(ctx context.Context, q *pg.Q, s pg.Scope, principal string) ([]string, error) {
	var ids []string
	err := q.Gorm(ctx).Model(&models.Credential{}).Where(pg.InScope+" and (principal = ? or former_principal = ?)", s.Tenant, s.Environment, principal, principal).Pluck("id", &ids).Error
	return ids, err
}

// PrincipalBehind returns who is behind an actor: the stored principal of a credential or of a person, and otherwise the actor itself. It returns ErrNoPrincipal for client tokens and
// visitors of hosted pages, which count as no one.
func PrincipalBehind(ctx context.Context, q *pg.Q, s pg.Scope, actor string) (Behind, error) {
	if strings.HasPrefix(actor, "client_token:") || strings.HasPrefix(actor, "page:") {
		return Behind{}, ErrNoPrincipal
	}
	if id, ok := strings.CutPrefix(actor, actorPerson); ok {
		return personBehind(ctx, q, s.Tenant, id)
	}
	id, ok := strings.CutPrefix(actor, actorCredential)
	if !ok {
		return Behind{Principal: principalOf(actor)}, nil
	}
	all, err := PrincipalsBehind(ctx, q, s, []string{id})
	return all[id], err
}

// ActorsBehind is PrincipalBehind of several actors, by actor. It reads all credentials in one statement.
func ActorsBehind(ctx context.Context, q *pg.Q, s pg.Scope, actors ...string) (map[string]Behind, error) {
	out := make(map[string]Behind, len(actors))
	var credentials []string
	for _, actor := range actors {
		if id, ok := strings.CutPrefix(actor, actorCredential); ok {
			credentials = append(credentials, id)
			continue
		}
		var err error
		if out[actor], err = PrincipalBehind(ctx, q, s, actor); err != nil {
			return nil, err
		}
	}
	behind, err := PrincipalsBehind(ctx, q, s, credentials)
	for id, b := range behind {
		out[actorCredential+id] = b
	}
	return out, err
}

// GetPrincipal returns the principal of an actor, with the errors of Behind.
func GetPrincipal(ctx context.Context, q *pg.Q, s pg.Scope, actor string) (string, error) {
	b, err := PrincipalBehind(ctx, q, s, actor)
	return b.Principal, err
}

// LockPrincipal is Get for a principal that is about to be stored: the accounts of the person are not linked until the transaction ends.
func LockPrincipal(ctx context.Context, q *pg.Q, s pg.Scope, actor string) (string, error) {
	if id, ok := strings.CutPrefix(actor, actorPerson); ok {
		if _, err := sharePerson(ctx, q, s.Tenant, id); err != nil && !errors.Is(err, pg.ErrNotFound) {
			return "", err
		}
	}
	return GetPrincipal(ctx, q, s, actor)
}

// QueueSamePrincipal adds a guard to a transaction that stores the principal of an actor: it fails if a person has a different one by now, and the accounts
// of the person are not linked until the transaction ends.
func QueueSamePrincipal(b *pgx.Batch, s pg.Scope, actor, principal string) {
	if id, ok := strings.CutPrefix(actor, actorPerson); ok {
		b.Queue(`select guard(count(*) filter (where coalesce(same.principal, $3) <> $4) = 0)
			from (select principal from people where tenant_id = $1 and id = $2 for share) same`, s.Tenant, id, actor, principal)
	}
}

// IsConfirmed reports whether a principal is not a person, or is one who had been confirmed by a time to be no one else.
func IsConfirmed(ctx context.Context, q *pg.Q, s pg.Scope, principal string, at time.Time) (bool, error) {
	id, ok := strings.CutPrefix(principal, actorPerson)
	if !ok {
		return true, nil
	}
	p, err := personOf(ctx, q, s.Tenant, id)
	if errors.Is(err, pg.ErrNotFound) {
		return false, nil
	}
	return p.ConfirmedAt != nil && !p.ConfirmedAt.After(at), err
}

// LinkPrincipals makes one principal of people of a tenant count as another: their accounts, their credentials, and what they asked for or approved
// that is open. The caller has the rows of the people locked. It returns the credentials.
func LinkPrincipals(ctx context.Context, q *pg.Q, tenant, from, to string) ([]string, error) {
	of := map[string]any{"tenant": tenant, "from": from, "to": to}
	if _, err := pg.Change[models.Person](ctx, q, "tenant_id = @tenant and coalesce(principal, 'person:' || id) = @from", "principal = @to", of); err != nil {
		return nil, err
	}
	if _, err := pg.Change[models.Person](ctx, q, "tenant_id = @tenant and coalesce(principal, 'person:' || id) = @to",
		"confirmed_at = (select max(confirmed_at) from people where tenant_id = @tenant and coalesce(principal, 'person:' || id) = @to)", of); err != nil {
		return nil, err
	}
	if err := renameInSets(ctx, q, tenant, from, to); err != nil {
		return nil, err
	}
	environments, err := tenancy.ListEnvironments(ctx, q, tenant)
	if err != nil {
		return nil, err
	}
	for _, env := range environments {
		if _, err := pg.Change[models.Review](ctx, q, `environment_id = @environment and principal = @from and authorization_id in
			(select authorization_id from holds where environment_id = @environment and status = 'pending')`, "principal = @to", of,
			map[string]any{"environment": env.ID}); err != nil {
			return nil, err
		}
		if _, err := pg.Change[models.Change](ctx, q, "environment_id = @environment and principal = @from and status = 'pending'", "principal = @to", of,
			map[string]any{"environment": env.ID}); err != nil {
			return nil, err
		}
	}
	return RewritePrincipal(ctx, q, tenant, from, to)
}

// RewritePrincipal makes the credentials of one principal count as another in every environment of a tenant, for two accounts that are linked because
// they are one person's. It returns the credentials.
func RewritePrincipal(ctx context.Context, q *pg.Q, tenant, from, to string) ([]string, error) {
	changed, err := pg.Change[models.Credential](ctx, q, "tenant_id = @tenant and (principal = @from or former_principal = @from)",
		`principal = case when principal = @from then @to else principal end,
		former_principal = case when former_principal = @from then @to else former_principal end`, map[string]any{"tenant": tenant, "from": from, "to": to})
	out := make([]string, len(changed))
	for i, c := range changed {
		out[i] = c.ID
	}
	return out, err
}

// SubjectSession is a session with its subject.
type SubjectSession struct {
	Session models.Session
	Subject models.Subject
}

// GetSession returns a session of the scope with its subject. Sessions of an erased subject are not found.
func GetSession(ctx context.Context, q *pg.Q, s pg.Scope, id string) (SubjectSession, error) {
	return LookUpSession(ctx, q, s, id)
}

// LookUpSession is GetSession with clauses that lock the session.
func LookUpSession(ctx context.Context, q *pg.Q, s pg.Scope, id string, locked ...clause.Expression) (SubjectSession, error) {
	var row models.Session
	if err := q.Gorm(ctx).Clauses(locked...).Where(pg.InScope+" and id = ?", s.Tenant, s.Environment, id).Take(&row).Error; err != nil {
		return pg.OrNotFound(SubjectSession{}, err)
	}
	subject, err := subjectrow.GetByUID(ctx, q, s, row.SubjectUID)
	return SubjectSession{Session: row, Subject: subject}, err
}

// CreatePerson inserts a person of a tenant.
func CreatePerson(ctx context.Context, q *pg.Q, p models.Person) error {
	return q.Gorm(ctx).Create(&p).Error
}

// sharePerson returns a person of the tenant, revoked or not, whose access and roles do not change until the transaction ends.
func sharePerson(ctx context.Context, q *pg.Q, tenant, id string) (models.Person, error) {
	var p models.Person
	return pg.OrNotFound(p, q.Gorm(ctx).Clauses(clause.Locking{Strength: "SHARE"}).Where("tenant_id = ? and id = ?", tenant, id).Take(&p).Error)
}

// GrantRole grants a role. It returns false if the person has it already.
func GrantRole(ctx context.Context, q *pg.Q, r models.PersonRole) (bool, error) {
	res := q.Gorm(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&r)
	return res.RowsAffected == 1, res.Error
}

// RolesIn returns the roles of a person in one environment.
func RolesIn(ctx context.Context, q *pg.Q, person, environment string) ([]models.Role, error) {
	var rows []models.PersonRole
	err := q.Gorm(ctx).Where("person_id = ? and environment_id = ?", person, environment).Order("role").Find(&rows).Error
	out := make([]models.Role, len(rows))
	for i, r := range rows {
		out[i] = r.Role
	}
	return out, err
}
