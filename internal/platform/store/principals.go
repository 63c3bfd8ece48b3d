package store

import (
	"context"
	"errors"
	"strings"
	"time"
)

// Principals reads the principals behind credentials and staff.
type Principals struct{ *Q }

// Principals returns the queries of the aggregate.
func (q *Q) Principals() Principals { return Principals{q} }

// The prefixes of actors that have a principal of their own.
const (
	actorCredential = "credential:" // #nosec G101 -- the beginning of an actor, no secret
	actorPerson     = "person:"
)

// ErrNoPrincipal is returned for an actor that counts as no one, such as a client token.
var ErrNoPrincipal = errors.New("store: the actor has no principal")

// Behind is who is behind an actor. Former is set for a credential that was given to an issuer of a different principal: the former
// one may still have the key. Such a credential is barred as both and approves as neither.
type Behind struct{ Principal, Former string }

// Meets reports whether two actors are or were of one principal.
func (b Behind) Meets(other Behind) bool {
	for _, one := range []string{other.Principal, other.Former} {
		if one != "" && (one == b.Principal || one == b.Former) {
			return true
		}
	}
	return false
}

// BehindAll returns who is behind credentials, by credential id, as it is stored. All keys that one key issued are one principal with it, and those
// that a person issued are that person. A key made at the command line is a principal of its own, because it is given to one party. An
// unknown credential is its own principal.
func (q Principals) BehindAll(ctx context.Context, s Scope, credentials []string) (map[string]Behind, error) {
	out := make(map[string]Behind, len(credentials))
	for _, id := range credentials {
		out[id] = Behind{Principal: actorCredential + id}
	}
	rows, err := q.query(ctx, `select id, principal, coalesce(former_principal, '') from credentials
		where tenant_id = $1 and environment_id = $2 and id = any($3)`, s.Tenant, s.Environment, credentials)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var b Behind
		if err := rows.Scan(&id, &b.Principal, &b.Former); err != nil {
			return nil, err
		}
		if b.Principal == "" {
			return nil, ErrNoPrincipal
		}
		out[id] = b
	}
	return out, rows.Err()
}

// Behind returns who is behind an actor: the stored principal of a credential or of a person, and otherwise the actor itself. It returns ErrNoPrincipal for client tokens and
// visitors of hosted pages, which count as no one.
func (q Principals) Behind(ctx context.Context, s Scope, actor string) (Behind, error) {
	if strings.HasPrefix(actor, "client_token:") || strings.HasPrefix(actor, "page:") {
		return Behind{}, ErrNoPrincipal
	}
	if id, ok := strings.CutPrefix(actor, actorPerson); ok {
		err := q.queryRow(ctx, "select coalesce((select principal from people where tenant_id = $1 and id = $2), $3)", s.Tenant, id, actor).Scan(&actor)
		return Behind{Principal: actor}, err
	}
	id, ok := strings.CutPrefix(actor, actorCredential)
	if !ok {
		return Behind{Principal: actor}, nil
	}
	all, err := q.BehindAll(ctx, s, []string{id})
	return all[id], err
}

// Get returns the principal of an actor, with the errors of Behind.
func (q Principals) Get(ctx context.Context, s Scope, actor string) (string, error) {
	b, err := q.Behind(ctx, s, actor)
	return b.Principal, err
}

// Hold is Get for a principal that is about to be stored: the accounts of the person are not linked until the transaction ends.
func (q Principals) Hold(ctx context.Context, s Scope, actor string) (string, error) {
	if id, ok := strings.CutPrefix(actor, actorPerson); ok {
		if _, err := q.Staff().Share(ctx, s.Tenant, id); err != nil && !errors.Is(err, ErrNotFound) {
			return "", err
		}
	}
	return q.Get(ctx, s, actor)
}

// Confirmed reports whether a principal was known to be a person of its own, or is none, at a time and ever since.
func (q Principals) Confirmed(ctx context.Context, s Scope, principal string, at time.Time) (bool, error) {
	var ok bool
	err := q.queryRow(ctx, "select "+strings.NewReplacer("@principal", "$2::text", "@tenant", "$1", "@since", "$3").Replace(confirmedPerson),
		s.Tenant, principal, at).Scan(&ok)
	return ok, err
}

// confirmedPerson is the condition that a principal of a tenant is no person, or one who was confirmed by a time.
const confirmedPerson = `(@principal not like 'person:%' or exists (select from people p where p.tenant_id = @tenant
	and p.id = substr(@principal, 8) and p.confirmed_at <= @since))`

// Link makes one principal of people of a tenant count as another: their accounts, their credentials, and what they asked for or approved
// that is open. The caller has the rows of the people locked. It returns the credentials.
func (q Principals) Link(ctx context.Context, tenant, from, to string) ([]string, error) {
	if _, err := q.exec(ctx, "update people set principal = $3 where tenant_id = $1 and coalesce(principal, 'person:' || id) = $2", tenant, from, to); err != nil {
		return nil, err
	}
	if _, err := q.exec(ctx, `update people set confirmed_at = (select max(confirmed_at) from people where tenant_id = $1 and coalesce(principal, 'person:' || id) = $2)
		where tenant_id = $1 and coalesce(principal, 'person:' || id) = $2`, tenant, to); err != nil {
		return nil, err
	}
	environments, err := q.Environments().List(ctx, tenant)
	if err != nil {
		return nil, err
	}
	for _, env := range environments {
		if _, err := q.exec(ctx, `update reviews r set principal = $3 from holds h where h.environment_id = $1 and r.environment_id = $1 and h.status = 'pending'
			and r.authorization_id = h.authorization_id and r.principal = $2`, env.ID, from, to); err != nil {
			return nil, err
		}
		if _, err := q.exec(ctx, "update changes set principal = $3 where environment_id = $1 and principal = $2 and status = 'pending'", env.ID, from, to); err != nil {
			return nil, err
		}
	}
	return q.Rewrite(ctx, tenant, from, to)
}

// Rewrite makes the credentials of one principal count as another in every environment of a tenant, for two accounts that are linked because
// they are one person's. It returns the credentials.
func (q Principals) Rewrite(ctx context.Context, tenant, from, to string) ([]string, error) {
	var out []string
	err := q.gorm(ctx).Raw(`update credentials set principal = case when principal = @from then @to else principal end,
			former_principal = case when former_principal = @from then @to else former_principal end
		where tenant_id = @tenant and (principal = @from or former_principal = @from) returning id`,
		map[string]any{"tenant": tenant, "from": from, "to": to}).Find(&out).Error
	return out, err
}
