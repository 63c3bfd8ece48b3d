package authorization

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// asked selects a request that was challenged or held, p, by what is asked now: by the same credential, about the same.
var asked = `p.tenant_id = $1 and p.environment_id = $2 and p.subject_uid = ` + subjectrow.UIDOf(subjectrow.ByExternalID+" and s.status = 'active'") + `
	and p.action_key = $4 and p.opens_standing is null and p.decision in ('challenge', 'hold') and p.mode = $5 and p.resource_digest = $6 and p.context_digest = $7 and p.audience = $8
	and p.credential_id = $9 and $10 in ('', p.nonce) and ($11::text is null or p.session_pinned and p.session_id = $11) and $12 in ('', p.id)`

// askedBy returns the arguments of asked.
func askedBy(r *request, force *action.InForce, id string) []any {
	return []any{
		r.principal.TenantID, r.principal.EnvironmentID, r.Subject, force.Action.Key, string(force.Action.Mode), r.resourceDigest, r.contextDigest, r.Audience,
		r.principal.CredentialID, r.Nonce, r.Session, id,
	}
}

// collect returns the follow-up decision about what is asked that no evaluation has returned yet, of several the newest, and remembers that it
// is returned now. It is empty if there is none: the life of the challenge or hold has passed, or the proof cannot be used any more.
func collect(ctx context.Context, q *pg.Q, args []any, now time.Time) (string, error) {
	var id string
	err := q.QueryRow(ctx, `with newest as (select f.id, f.tenant_id, f.environment_id from authorizations p join authorizations f on f.environment_id = $2 and f.parent_id = p.id
			left join challenges c on c.environment_id = $2 and c.authorization_id = p.id
			left join holds h on h.environment_id = $2 and h.authorization_id = p.id
		where `+asked+` and (c.expires_at > $13 or h.due_at > $13)
			and (f.decision <> 'allow' or f.mode <> 'enforce' or exists (select from proofs x where x.environment_id = $2 and x.authorization_id = f.id
				and x.status = 'active' and x.expires_at > $13))
			and not exists (select from collected_decisions d where d.environment_id = $2 and d.authorization_id = f.id)
		order by p.decided_at desc, p.id desc limit 1)
		insert into collected_decisions (authorization_id, tenant_id, environment_id, collected_at)
		select n.id, n.tenant_id, n.environment_id, $13::timestamptz from newest n where n.environment_id = $2
		on conflict do nothing returning authorization_id`, append(args, now)...).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return id, err
}

// waiting returns the request that is asked about if it still waits; empty if it does not.
func waiting(ctx context.Context, q *pg.Q, args []any, now time.Time) (string, error) {
	var id string
	err := q.QueryRow(ctx, `select p.id from authorizations p
			left join challenges c on c.environment_id = $2 and c.authorization_id = p.id
			left join holds h on h.environment_id = $2 and h.authorization_id = p.id
		where `+asked+` and (c.status = 'open' and c.expires_at > $13 or h.status = 'pending' and h.due_at > $13)`, append(args, now)...).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return id, err
}

// was reports whether what is asked was challenged or held under an id at any time.
func was(ctx context.Context, q *pg.Q, args []any) (found bool, err error) {
	err = q.QueryRow(ctx, `select exists (select from authorizations p where `+asked+`)`, args...).Scan(&found)
	return found, err
}
