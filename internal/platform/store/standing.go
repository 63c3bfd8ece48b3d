package store

import (
	"context"
	"strings"
	"time"
)

// Prefixes of the actors that may review.
const (
	actorCredential = "credential:" // #nosec G101 -- how actors begin that are credentials
	actorPerson     = "person:"
)

// chainOfIssue walks from credentials to those that issued them, up to the first that no credential issued. Who issued a
// credential never changes. The depth is bounded so that no row can make it walk for ever.
const chainOfIssue = `with recursive chain as (
		select id as leaf, id, created_by, 1 as depth from credentials where tenant_id = $1 and environment_id = $2 and id = any($3)
		union all
		select chain.leaf, c.id, c.created_by, chain.depth + 1 from chain
			join credentials c on chain.created_by = 'credential:' || c.id and c.tenant_id = $1 and c.environment_id = $2
		where chain.depth < 64)
	select distinct on (leaf) leaf, id, created_by from chain order by leaf, depth desc`

// List are who stands behind credentials, by credential id: the credential at the root of the chain of issue, or the
// person who issued that. Keys that one key issued are one principal with it, however many they are; keys made at the
// command line are each a principal of their own, because each is handed to one party. An unknown credential stands for
// itself.
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

// Get is who stands behind an actor: the actor itself, unless it is a credential.
func (q Principals) Get(ctx context.Context, s Scope, actor string) (string, error) {
	id, ok := strings.CutPrefix(actor, actorCredential)
	if !ok {
		return actor, nil
	}
	all, err := q.Principals().List(ctx, s, []string{id})
	return all[id], err
}

// standing is the condition that a review r of a hold h counts. Of a hold that is settled every review counts that counted
// then; of a pending one only those of reviewers in good standing at the time that replaces @at: a credential that is neither
// revoked nor expired, or a person who still is a reviewer of the environment.
const standing = `(h.status <> 'pending' or case
	when r.reviewer like 'credential:%' then exists (select from credentials c where c.id = substr(r.reviewer, 12)
		and c.environment_id = h.environment_id and c.revoked_at is null and (c.expires_at is null or c.expires_at > @at))
	when r.reviewer like 'person:%' then exists (select from people p join person_roles pr on pr.person_id = p.id
		where p.id = substr(r.reviewer, 8) and p.tenant_id = h.tenant_id and p.revoked_at is null
		and pr.environment_id = h.environment_id and pr.role = 'reviewer')
	else false end)`

// countedApprovals counts the principals whose approval of the hold h counts.
const countedApprovals = `(select count(distinct coalesce(r.principal, r.reviewer)) from reviews r
	where r.authorization_id = h.authorization_id and r.resolution = 'approve' and ` + standing + `)`

// Approvals counts the distinct principals who approve of a hold and are in good standing at a time.
func (q Holds) Approvals(ctx context.Context, authorization string, at time.Time) (int, error) {
	var n int
	err := q.queryRow(ctx, "select "+strings.ReplaceAll(countedApprovals, "@at", "$2::timestamptz")+" from holds h where h.authorization_id = $1",
		authorization, at).Scan(&n)
	return n, err
}
