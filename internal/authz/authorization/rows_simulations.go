package authorization

import (
	"context"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// Replayable is a stored decision with the inputs that a simulation needs to make it again.
type Replayable struct {
	ID                 string
	ParentID           *string
	ActionKey          string
	Decision           string
	Mode               models.ActionMode
	ReasonCodes        models.Strings
	Assurance          models.JSON
	ChallengesUsed     int
	ChallengeCompleted *string
	HoldApproved       bool
	ResourceType       string
	ContextDigest      string
	Audience           string
	DecidedAt          time.Time
	Kept               []byte // sealed; nil if no values are kept of the request

	Subject          string // the relying party's id
	SubjectCreatedAt time.Time
	ClaimCapUntil    *time.Time // that the subject has now; it is never set to an earlier time
	Passkeys         int        // that the subject has now
	PasskeysThen     int        // that the subject had at DecidedAt
}

const selectReplayables = `select a.id, a.parent_id, a.action_key, a.decision, a.mode, a.reason_codes, a.assurance, a.challenges_used,
		a.challenge_completed, a.hold_approved, a.resource_type, a.context_digest, a.audience, a.decided_at, k.kept,
		s.external_id as subject, s.created_at as subject_created_at, s.claim_cap_until,
		(select count(*) from passkeys p where p.environment_id = a.environment_id and p.subject_uid = a.subject_uid and p.revoked_at is null) as passkeys,
		(select count(*) from passkeys p where p.environment_id = a.environment_id and p.subject_uid = a.subject_uid and p.created_at <= a.decided_at
			and (p.revoked_at is null or p.revoked_at > a.decided_at)) as passkeys_then
	from authorizations a join subjects s on s.uid = a.subject_uid and s.environment_id = a.environment_id
		left join kept_values k on k.authorization_id = a.id and k.environment_id = a.environment_id
	where a.tenant_id = ? and a.environment_id = ? and `

// listReplayables returns at most last of the action's newest decisions in [since, until). A nil bound is open.
func listReplayables(ctx context.Context, q *pg.Q, s pg.Scope, action string, since, until *time.Time, last int) ([]Replayable, error) {
	return queryReplayables(ctx, q, selectReplayables+`a.action_id = ?
			and (?::timestamptz is null or a.decided_at >= ?) and (?::timestamptz is null or a.decided_at < ?)
		order by a.decided_at desc, a.id desc limit ?`, s.Tenant, s.Environment, action, since, since, until, until, last)
}

// replayablesByID returns decisions of the scope, in no order.
func replayablesByID(ctx context.Context, q *pg.Q, s pg.Scope, ids []string) ([]Replayable, error) {
	return queryReplayables(ctx, q, selectReplayables+"a.id in ?", s.Tenant, s.Environment, ids)
}

func queryReplayables(ctx context.Context, q *pg.Q, query string, args ...any) ([]Replayable, error) {
	q = q.Old(ctx)
	var rows []Replayable
	err := q.Gorm(ctx).Raw(query, args...).Find(&rows).Error
	return rows, err
}

// SubjectCount is a number of decisions about a subject: about one action, with one of the outcomes, in a span of time.
type SubjectCount struct {
	Action   string
	Outcomes []string
	Span     time.Duration
}

// countsBefore returns, for each of the decisions by id, the counts of the decisions about its subject that were made before it,
// each at most limit.
func countsBefore(ctx context.Context, q *pg.Q, s pg.Scope, ids []string, counts []SubjectCount, limit int) (map[string][]int, error) {
	q = q.Old(ctx)
	actions, outcomes, spans := make([]string, len(counts)), make([]string, len(counts)), make([]float64, len(counts))
	for i, c := range counts {
		actions[i], outcomes[i], spans[i] = c.Action, strings.Join(c.Outcomes, ","), c.Span.Seconds()
	}
	rows, err := q.Query(ctx, `select a.id, c.place, (select count(*) from (select from authorizations b where b.environment_id = $2 and b.subject_uid = a.subject_uid
				and b.decided_at < a.decided_at and b.decided_at >= a.decided_at - make_interval(secs => c.span)
				and b.action_key = c.action and b.decision = any (string_to_array(c.outcomes, ',')) limit $7) counted)
		from authorizations a cross join unnest($4::text[], $5::text[], $6::float8[]) with ordinality c (action, outcomes, span, place)
		where a.tenant_id = $1 and a.environment_id = $2 and a.id = any ($3)`, s.Tenant, s.Environment, ids, actions, outcomes, spans, limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := make(map[string][]int, len(ids))
	for rows.Next() {
		var id string
		var place, n int
		if err := rows.Scan(&id, &place, &n); err != nil {
			return nil, err
		}
		if out[id] == nil {
			out[id] = make([]int, len(counts))
		}
		out[id][place-1] = n
	}
	return out, rows.Err()
}

// shortestRetention is the shortest time for which decisions can be stored (internal/subject/upkeep).
const shortestRetention = 30 * 24 * time.Hour

// completeSince returns the time from which everything of the classes is stored in the environment: retention has removed earlier rows.
// Zero is since ever. If the event of the removal has lost its data to retention as well, the time is later than necessary.
func completeSince(ctx context.Context, q *pg.Q, s pg.Scope, classes ...audit.Expiring) (time.Time, error) {
	q = q.Old(ctx)
	var at time.Time
	err := q.QueryRow(ctx, `select coalesce(max(coalesce((data->>'older_than')::timestamptz, at - make_interval(secs => $3))), '0001-01-01Z') from events
		where tenant_id = $1 and environment_id = $2 and type = 'retention.executed' and (data is null or data->>'class' = any ($4))`,
		s.Tenant, s.Environment, shortestRetention.Seconds(), classes).Scan(&at)
	return at.UTC(), err
}

// erasedUntil returns the time up to which values of requests may have been erased with their subjects: that of the last erasure in the
// environment, or now if one is in progress. Zero is none.
func erasedUntil(ctx context.Context, q *pg.Q, s pg.Scope, now time.Time) (time.Time, error) {
	var at time.Time
	err := q.QueryRow(ctx, "select coalesce(max(coalesce(completed_at, $3)), '0001-01-01Z') from erasures where tenant_id = $1 and environment_id = $2",
		s.Tenant, s.Environment, now).Scan(&at)
	return at.UTC(), err
}

// policiesOf returns the policy versions of an action, with their hashes and schemas.
func policiesOf(ctx context.Context, q *pg.Q, s pg.Scope, action string) ([]models.PolicyVersion, error) {
	var rows []models.PolicyVersion
	err := q.Gorm(ctx).Where(pg.InScope+" and action_id = ?", s.Tenant, s.Environment, action).Find(&rows).Error
	return rows, err
}
