package store

import (
	"context"
	"strings"
)

// Principals reads the principals behind credentials and staff.
type Principals struct{ *Q }

// Principals returns the queries of the aggregate.
func (q *Q) Principals() Principals { return Principals{q} }

// The prefixes of actors that may review.
const (
	actorCredential = "credential:" // #nosec G101 -- how actors begin that are credentials
	actorPerson     = "person:"
)

// chainOfIssue follows credentials to those that issued them, up to the first that no credential issued. The issuer of a
// credential never changes. The depth is bounded, so that no row can make the query loop.
const chainOfIssue = `with recursive chain as (
		select id as leaf, id, created_by, 1 as depth from credentials where tenant_id = $1 and environment_id = $2 and id = any($3)
		union all
		select chain.leaf, c.id, c.created_by, chain.depth + 1 from chain
			join credentials c on chain.created_by = 'credential:' || c.id and c.tenant_id = $1 and c.environment_id = $2
		where chain.depth < 64)
	select distinct on (leaf) leaf, id, created_by from chain order by leaf, depth desc`

// List returns the principals of credentials, by credential id: the credential at the root of the chain of issue, or the
// person who issued that one. All keys that one key issued are one principal with it. Keys made at the command line are
// each a principal of their own, because each is given to one party. An unknown credential is its own principal.
func (q Principals) List(ctx context.Context, s Scope, credentials []string) (map[string]string, error) {
	out := make(map[string]string, len(credentials))
	for _, id := range credentials {
		out[id] = actorCredential + id
	}
	rows, err := q.query(ctx, chainOfIssue, s.Tenant, s.Environment, credentials)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var leaf, root, by string
		if err := rows.Scan(&leaf, &root, &by); err != nil {
			return nil, err
		}
		if out[leaf] = actorCredential + root; strings.HasPrefix(by, actorPerson) {
			out[leaf] = by
		}
	}
	return out, rows.Err()
}

// Get returns the principal of an actor: the actor itself, unless it is a credential.
func (q Principals) Get(ctx context.Context, s Scope, actor string) (string, error) {
	id, ok := strings.CutPrefix(actor, actorCredential)
	if !ok {
		return actor, nil
	}
	all, err := q.List(ctx, s, []string{id})
	return all[id], err
}
