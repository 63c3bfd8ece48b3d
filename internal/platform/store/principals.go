package store

import (
	"context"
	"errors"
	"strings"
)

// Principals reads the principals behind credentials and staff.
type Principals struct{ *Q }

// Principals returns the queries of the aggregate.
func (q *Q) Principals() Principals { return Principals{q} }

// actorCredential is how actors begin that are credentials.
const actorCredential = "credential:" // #nosec G101 -- the beginning of an actor, no secret

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

// Behind returns who is behind an actor: the actor itself, unless it is a credential. It returns ErrNoPrincipal for client tokens and
// visitors of hosted pages, which count as no one.
func (q Principals) Behind(ctx context.Context, s Scope, actor string) (Behind, error) {
	if strings.HasPrefix(actor, "client_token:") || strings.HasPrefix(actor, "page:") {
		return Behind{}, ErrNoPrincipal
	}
	id, ok := strings.CutPrefix(actor, actorCredential)
	if !ok {
		return Behind{Principal: actor}, nil
	}
	all, err := q.BehindAll(ctx, s, []string{id})
	return all[id], err
}

// List returns the principals of credentials, by credential id.
func (q Principals) List(ctx context.Context, s Scope, credentials []string) (map[string]string, error) {
	all, err := q.BehindAll(ctx, s, credentials)
	out := make(map[string]string, len(all))
	for id, b := range all {
		out[id] = b.Principal
	}
	return out, err
}

// Get returns the principal of an actor, with the errors of Behind.
func (q Principals) Get(ctx context.Context, s Scope, actor string) (string, error) {
	b, err := q.Behind(ctx, s, actor)
	return b.Principal, err
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
