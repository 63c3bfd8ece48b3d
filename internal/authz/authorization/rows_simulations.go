package authorization

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/authz/aggregate"
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
	StandingID         *string // of the standing approval that allowed it
	StandingSource     *string // of that; nil if it is gone
	PolicyHash         string
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

var selectReplayables = `select a.id, a.parent_id, a.action_key, a.decision, a.mode, a.reason_codes, a.assurance, a.challenges_used,
		a.challenge_completed, a.hold_approved, a.standing_id, a.policy_hash,
		(select g.source from standing_approvals g where g.environment_id = ? and g.id = a.standing_id) as standing_source, a.resource_type, a.context_digest, a.audience, a.decided_at, k.kept,
		s.external_id as subject, s.created_at as subject_created_at, s.claim_cap_until,
		(select count(*) from passkeys p where p.environment_id = ? and p.subject_uid = a.subject_uid and p.revoked_at is null) as passkeys,
		(select count(*) from passkeys p where p.environment_id = ? and p.subject_uid = a.subject_uid and p.created_at <= a.decided_at
			and (p.revoked_at is null or p.revoked_at > a.decided_at)) as passkeys_then
	from authorizations a` + subjectrow.Join("a") + `
		left join kept_values k on k.authorization_id = a.id and k.environment_id = a.environment_id
	where a.tenant_id = ? and a.environment_id = ? and a.opens_standing is null and `

// listReplayables returns at most last of the action's newest decisions in [since, until). A nil bound is open.
func listReplayables(ctx context.Context, q *pg.Q, s pg.Scope, action string, since, until *time.Time, last int) ([]Replayable, error) {
	return queryReplayables(ctx, q, s, `a.action_id = ?
			and (?::timestamptz is null or a.decided_at >= ?) and (?::timestamptz is null or a.decided_at < ?)
		order by a.decided_at desc, a.id desc limit ?`, action, since, since, until, until, last)
}

// replayablesByID returns decisions of the scope, in no order.
func replayablesByID(ctx context.Context, q *pg.Q, s pg.Scope, ids []string) ([]Replayable, error) {
	return queryReplayables(ctx, q, s, "a.id in ?", ids)
}

func queryReplayables(ctx context.Context, q *pg.Q, s pg.Scope, condition string, args ...any) ([]Replayable, error) {
	q = q.Old(ctx)
	var rows []Replayable
	err := q.Gorm(ctx).Raw(selectReplayables+condition, append([]any{s.Environment, s.Environment, s.Environment, s.Tenant, s.Environment}, args...)...).Find(&rows).Error
	return rows, err
}

// SubjectCount is a number of decisions about the subject of a decision that were made before it: about one action, with one of the outcomes, since a
// time. Place is that of the number among those of the decision.
type SubjectCount struct {
	ID       string
	Place    int
	Action   string
	Outcomes []string
	Since    time.Time
	// Unapproved counts those that no person approved.
	Unapproved bool
}

// countsBefore returns the counts by id and place, each at most limit.
func countsBefore(ctx context.Context, q *pg.Q, s pg.Scope, counts []SubjectCount, limit int) (map[string]map[int]int, error) {
	q = q.Old(ctx)
	ids, places, unapproved := make([]string, len(counts)), make([]int, len(counts)), make([]bool, len(counts))
	actions, outcomes, since := make([]string, len(counts)), make([]string, len(counts)), make([]time.Time, len(counts))
	for i, c := range counts {
		ids[i], places[i], actions[i], outcomes[i], since[i], unapproved[i] = c.ID, c.Place, c.Action, strings.Join(c.Outcomes, ","), c.Since, c.Unapproved
	}
	most := strconv.Itoa(maxSelected)
	return collectCounts(q.Query(ctx, `select a.id, c.place, case when not c.unapproved then (select count(*) from ((select 1 from authorizations b where b.environment_id = $2 and b.subject_uid = a.subject_uid
				and b.decided_at < a.decided_at and b.decided_at >= c.since
				and b.action_key = c.action and b.decision = any (string_to_array(c.outcomes, ',')) limit $8)
			union all (select 1 from aggregate_values v where v.environment_id = $2 and v.subject_uid = a.subject_uid and v.field = '`+aggregate.DecisionsField+`'
				and v.decided_at < a.decided_at and v.decided_at >= c.since
				and v.action_key = c.action and v.decision = any (string_to_array(c.outcomes, ',')) limit $8) limit $8) counted)
			else (select case when count(*) > `+most+` and count(*) filter (where counts) < $8 then `+strconv.Itoa(unknownTally)+` else least(count(*) filter (where counts), $8) end from (
				(select b.parent_id is null and b.standing_id is null as counts from authorizations b where b.environment_id = $2 and b.subject_uid = a.subject_uid
					and b.decided_at < a.decided_at and b.decided_at >= c.since and b.action_key = c.action and b.decision = c.outcomes order by b.decided_at desc limit `+most+` + 1)
				union all (select true from aggregate_values v where v.environment_id = $2 and v.subject_uid = a.subject_uid and v.field = '`+aggregate.DecisionsField+`'
					and v.decided_at < a.decided_at and v.decided_at >= c.since and v.action_key = c.action and v.decision = c.outcomes limit $8)) found) end
		from unnest($3::text[], $4::int[], $5::text[], $6::text[], $7::timestamptz[], $9::boolean[]) c (id, place, action, outcomes, since, unapproved)
		join authorizations a on a.tenant_id = $1 and a.environment_id = $2 and a.id = c.id`, s.Tenant, s.Environment, ids, places, actions, outcomes, since, limit, unapproved))
}

// collectCounts returns the counts of rows of a decision's id, the place of the count, and the count.
func collectCounts(rows pgx.Rows, err error) (map[string]map[int]int, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[string]map[int]int{}
	for rows.Next() {
		var id string
		var place, n int
		if err := rows.Scan(&id, &place, &n); err != nil {
			return nil, err
		}
		if out[id] == nil {
			out[id] = map[int]int{}
		}
		out[id][place] = n
	}
	return out, rows.Err()
}

// signalsBefore is countsBefore for security events about the subjects: those that happened since a time, and had been received.
func signalsBefore(ctx context.Context, q *pg.Q, s pg.Scope, counts []SubjectCount, limit int) (map[string]map[int]int, error) {
	ids, places, types, since := make([]string, len(counts)), make([]int, len(counts)), make([]string, len(counts)), make([]time.Time, len(counts))
	for i, c := range counts {
		ids[i], places[i], types[i], since[i] = c.ID, c.Place, c.Action, c.Since
	}
	return collectCounts(q.Old(ctx).Query(ctx, `select a.id, c.place, (select count(*) from ((select 1 from signals x where x.environment_id = $2 and x.subject_uid = a.subject_uid
				and x.received_at < a.decided_at and x.at >= c.since and x.type = c.type and not x.eased limit $7)
			union all (select 1 from aggregate_values v where v.environment_id = $2 and v.subject_uid = a.subject_uid and v.field = '`+aggregate.SignalsField+`'
				and v.reserved_at < a.decided_at and v.decided_at >= c.since and v.action_key = c.type limit $7)) counted)
		from unnest($3::text[], $4::int[], $5::text[], $6::timestamptz[]) c (id, place, type, since)
		join authorizations a on a.tenant_id = $1 and a.environment_id = $2 and a.id = c.id`, s.Tenant, s.Environment, ids, places, types, since, limit))
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
