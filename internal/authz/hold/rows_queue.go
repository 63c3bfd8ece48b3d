package hold

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// Filter narrows the queue of the reviewers. Now decides which pending holds count as expired.
type Filter struct {
	Status       models.HoldStatus
	Action       string     // action key; empty for all
	RiskClass    string     // empty for all
	Subject      string     // the relying party's id; empty for all
	DueBefore    *time.Time // only holds due before it
	OpenedBefore *time.Time // only holds opened before it
	MostUrgent   bool       // soonest due first, instead of newest first
	Assignee     string     // only holds assigned to this reviewer; empty for all
	Need         *Need      // only holds that need this reviewer; nil for all
	Beyond       *Need      // only holds that do not need this reviewer; nil for all
	Only         []string   // only the holds of these authorizations; nil for all
	Skip         int        // rows to leave out at the beginning, instead of a cursor
	Reviewer     string     // the reviewer whose OwnResolution to return
	Principal    string     // that of the reviewer
	Now          time.Time

	stored models.HoldStatus // of an expired hold: only those stored with this status; empty for all
}

// Need is a reviewer with the teams as whose member, or as the deputy of whose absent member, the reviewer may approve. A hold needs the
// reviewer who may approve it now: who has not approved it, has given no review that waits, may fill one of its approvals, did not request it
// where self-review is barred, and is a confirmed person where two are asked for.
type Need struct {
	Reviewer, Principal string
	Absent              string // the principal of the person whose deputy the reviewer is; empty for none
	Teams               []string
	Own                 []string // credentials whose requests are the reviewer's own
	SelfBarred          bool     // the environment bars self-review
}

func (n Need) values(s pg.Scope, now time.Time) map[string]any {
	return map[string]any{
		"environment": s.Environment, "reviewer": n.Reviewer, "principal": n.Principal, "absent": n.Absent, "teams": append([]string{""}, n.Teams...), "now": now,
		"own": append([]string{""}, n.Own...), "barred": n.SelfBarred,
	}
}

// openStep is the position of the step of the hold h that waits for its first approval or for further ones.
const openStep = `coalesce((select min(s.step) from hold_steps s where s.authorization_id = h.authorization_id and s.environment_id = @environment
	and s.satisfied_at is null), 0)`

// ableApprover is the condition that the person of the row t, who is named as an approver, is a reviewer in good standing.
var ableApprover = `exists (select from people p join person_roles pr on pr.person_id = p.id where p.tenant_id = t.tenant_id and p.id = t.person
	and pr.environment_id = t.environment_id and ` + reviewerHasAccess + `)`

// namedTeam is the team whose members may approve the row t: of one that names a person, the fallback team if the person may not approve.
var namedTeam = `(case when t.fallback_team is null then t.team when t.person is not null and ` + ableApprover + ` then null else t.fallback_team end)`

// namedPerson is the condition that the row t names the reviewer, or the absent person whose deputy the reviewer is.
var namedPerson = `(t.person is not null and ` + ableApprover + ` and t.person in (select p.id from people p where p.tenant_id = t.tenant_id
	and coalesce(p.principal, 'person:' || p.id) in (@principal, @absent)))`

// needed is the condition that the hold h needs a reviewer with teams at a time.
var needed = `not exists (select from reviews r where r.authorization_id = h.authorization_id and r.environment_id = @environment
	and (r.reviewer = @reviewer or r.principal = @principal) and r.resolution = 'approve'
	and (r.step = ` + openStep + ` or not h.repeat_approvers))
	and not ((h.self_review_barred or @barred) and a.credential_id in @own)
	and (` + forOne + ` or exists (select from (select cast(@principal as text) as principal) r where ` + confirmedReviewer + `))
	and not exists (select from given_reviews g where g.authorization_id = h.authorization_id and g.environment_id = @environment
		and g.reviewer = @reviewer and g.remark is null)
	and (coalesce((select s.approvals from hold_steps s where s.authorization_id = h.authorization_id and s.environment_id = @environment and s.step = ` + openStep + `),
		h.approvals_required) > (select coalesce(sum(t.approvals), 0) from hold_teams t where t.authorization_id = h.authorization_id and t.environment_id = @environment
		and t.step = ` + openStep + `)
	or exists (select from hold_teams t where t.authorization_id = h.authorization_id and t.environment_id = @environment and t.step = ` + openStep + `
		and (` + namedTeam + ` in @teams or ` + namedPerson + ` or t.escalate_team in @teams and coalesce(t.escalate_at, (select s.opened_at + make_interval(secs => t.escalate_after) from hold_steps s
			where s.authorization_id = t.authorization_id and s.environment_id = @environment and s.step = t.step)) <= @now)))`

// QueuedHold is a hold as reviewers see it.
type QueuedHold struct {
	AuthorizationID   string
	CredentialID      string // that requested the authorization
	ActionID          string
	ActionKey         string
	ActionName        string
	Subject           string
	RiskClass         string
	ReasonCodes       models.Strings
	OpenedAt          time.Time
	RemindedAt        *time.Time
	DueAt             time.Time
	Status            models.HoldStatus
	ApprovalsRequired int
	SelfReviewBarred  bool
	RepeatApprovers   bool
	Approvals         int
	AssignedTo        *string // the reviewer who took the hold; nil if no one has
	OwnResolution     *string // of HoldFilter.Reviewer; nil if none
	Details           []byte  // sealed; nil for an action that shows none
	Stated            string  // the reasons that the author of the policy gave to the rules that applied
	Counts            bool    // HoldFilter.Principal is a confirmed person, or the hold asks for one person only
}

// queryQueue lists holds, newest first or soonest due first.
func queryQueue(ctx context.Context, q *pg.Q, s pg.Scope, f Filter, p pg.Page) ([]QueuedHold, string, error) {
	page := queuedHolds
	if f.Status == models.HoldExpired {
		page = expiredHolds
	}
	tx, err := page(ctx, q, s, f, p)
	if err != nil {
		return nil, "", err
	}
	var rows []QueuedHold
	if err := tx.Find(&rows).Error; err != nil {
		return nil, "", err
	}
	rows, next := pg.CutPage(rows, p, func(h QueuedHold) (time.Time, string) {
		if f.MostUrgent {
			return h.DueAt, h.AuthorizationID
		}
		return h.OpenedAt, h.AuthorizationID
	})
	return rows, next, nil
}

// stated joins the reasons of the rules that applied to the authorization a.
const stated = `(select coalesce(string_agg(e->>'wanted', ' '), '') from json_array_elements(a.explanation) e where starts_with(e->>'requirement', '` + policy.RulePrefix + `'))`

// queuedHolds is the statement of one page of the queue.
func queuedHolds(ctx context.Context, q *pg.Q, s pg.Scope, f Filter, p pg.Page) (*gorm.DB, error) {
	tx := f.narrow(s, q.Gorm(ctx).Table("holds h").
		Select(`h.authorization_id, a.credential_id, h.action_id, a.action_key, act.name as action_name, h.assigned_to, s.external_id as subject, h.risk_class, a.reason_codes, h.opened_at,
			h.reminded_at, h.due_at, h.status, h.approvals_required, h.self_review_barred, h.repeat_approvers,
			`+countedApprovals+` as approvals,
			(select r.resolution from reviews r where r.authorization_id = h.authorization_id and r.environment_id = @environment and r.reviewer = @reviewer
				order by r.step desc limit 1) as own_resolution,
			`+stated+` as stated,
			(`+forOne+` or exists (select from (select cast(@principal as text) as principal) r where `+confirmedReviewer+`)) as counts,
			(select d.details from shown_details d where d.authorization_id = h.authorization_id and d.environment_id = @environment) as details`,
			map[string]any{"environment": s.Environment, "at": f.Now, "reviewer": f.Reviewer, "principal": f.Principal}).
		Joins("join authorizations a on a.id = h.authorization_id and a.environment_id = h.environment_id").
		Joins("join actions act on act.id = h.action_id").
		Joins(subjectrow.Join("h"))).Offset(f.Skip)
	if f.MostUrgent {
		return pg.PaginateUp(tx, p, "h.due_at", "h.authorization_id")
	}
	return pg.Paginate(tx, p, "h.opened_at", "h.authorization_id")
}

// expiredHolds merges the holds that are stored as expired with those that are due but not yet: each status has its range of the indexes.
func expiredHolds(ctx context.Context, q *pg.Q, s pg.Scope, f Filter, p pg.Page) (*gorm.DB, error) {
	skip, all := f.Skip, pg.Page{Limit: f.Skip + p.Limit, After: p.After}
	f.Skip = 0
	f.stored = models.HoldExpired
	marked, err := queuedHolds(ctx, q, s, f, all)
	if err != nil {
		return nil, err
	}
	f.stored = models.HoldPending
	due, err := queuedHolds(ctx, q, s, f, all)
	if err != nil {
		return nil, err
	}
	order := "opened_at desc, authorization_id desc"
	if f.MostUrgent {
		order = "due_at, authorization_id"
	}
	return q.Gorm(ctx).Raw("select * from (?) marked union all select * from (?) due order by "+order+" limit ? offset ?", marked, due, p.Limit+1, skip), nil
}

// positionInQueue returns how many holds of the list precede the hold of an authorization, and the length of the list. before is -1 if
// the hold is not in the list.
func positionInQueue(ctx context.Context, q *pg.Q, s pg.Scope, f Filter, authorization string) (before, total int64, err error) {
	precedes := "(h.opened_at, h.authorization_id) > (o.opened_at, o.authorization_id)"
	if f.MostUrgent {
		precedes = "(h.due_at, h.authorization_id) < (o.due_at, o.authorization_id)"
	}
	var row struct {
		Before, Total int64
		Present       bool
	}
	err = f.narrow(s, q.Gorm(ctx).Table("holds h").
		Select("count(*) as total, count(*) filter (where "+precedes+") as before, coalesce(bool_or(h.authorization_id = o.authorization_id), false) as present").
		Joins("join authorizations a on a.id = h.authorization_id and a.environment_id = h.environment_id").
		Joins(subjectrow.Join("h")).
		Joins("left join holds o on o.authorization_id = ? and o.tenant_id = h.tenant_id and o.environment_id = ?", authorization, s.Environment)).Find(&row).Error
	if !row.Present {
		row.Before = -1
	}
	return row.Before, row.Total, err
}

// narrow adds the conditions of the scope and the filter on holds h, their authorizations a and their subjects s.
func (f Filter) narrow(s pg.Scope, tx *gorm.DB) *gorm.DB {
	tx = tx.Where("h.tenant_id = ? and h.environment_id = ?", s.Tenant, s.Environment)
	switch f.Status {
	case models.HoldPending:
		tx = tx.Where("h.status = 'pending' and h.due_at > ?", f.Now)
	case models.HoldExpired:
		switch f.stored {
		case models.HoldExpired:
			tx = tx.Where("h.status = 'expired'")
		case models.HoldPending:
			tx = tx.Where("h.status = 'pending' and h.due_at <= ?", f.Now)
		default:
			tx = tx.Where("(h.status = 'expired' or h.status = 'pending' and h.due_at <= ?)", f.Now)
		}
	default:
		tx = tx.Where("h.status = ?", string(f.Status))
	}
	if f.Subject != "" {
		tx = tx.Where("s.external_id = ?", f.Subject)
	}
	if f.Action != "" {
		tx = tx.Where("a.action_key = ?", f.Action)
	}
	if f.Assignee != "" {
		tx = tx.Where("h.assigned_to = ?", f.Assignee)
	}
	if f.Only != nil {
		tx = tx.Where("h.authorization_id in ?", f.Only)
	}
	if f.Need != nil {
		tx = tx.Where(needed, f.Need.values(s, f.Now))
	}
	if f.Beyond != nil {
		tx = tx.Where("not ("+needed+")", f.Beyond.values(s, f.Now))
	}
	if f.RiskClass != "" {
		tx = tx.Where("h.risk_class = ?", f.RiskClass)
	}
	if f.DueBefore != nil {
		tx = tx.Where("h.due_at < ?", *f.DueBefore)
	}
	if f.OpenedBefore != nil {
		tx = tx.Where("h.opened_at < ?", *f.OpenedBefore)
	}
	return tx
}

// QueueCounts counts the holds that wait for reviewers.
type QueueCounts struct {
	Pending        int64        `json:"pending"`
	WithinHour     int64        `json:"within_hour"` // due within an hour
	WithinDay      int64        `json:"within_day"`  // due within 24 hours, those within an hour included
	Reminded       int64        `json:"reminded"`    // past half of their time
	PartlyApproved int64        `json:"partly_approved"`
	OldestOpenedAt *time.Time   `json:"oldest_opened_at"`
	NextDueAt      *time.Time   `json:"next_due_at"`
	ByRisk         []KeyedCount `json:"by_risk"`
	ByAction       []KeyedCount `json:"by_action"`
}

// KeyedCount is the part of a count with one key.
type KeyedCount struct {
	Key   string `json:"key"`
	Count int64  `json:"count"`
}

var countedNow = strings.NewReplacer("@environment", "$2", "@at", "$3").Replace(inGoodStanding)

// countHolds reads each pending hold once, by the index holds_queue.
var countHolds = `with waiting as materialized (
	select h.risk_class, h.due_at, h.opened_at, h.reminded_at, a.action_key,
		exists (select 1 from reviews r where r.authorization_id = h.authorization_id and r.environment_id = $2 and r.resolution = 'approve'
			and ` + countedNow + `) as partly
	from holds h join authorizations a on a.id = h.authorization_id and a.environment_id = h.environment_id
	where h.tenant_id = $1 and h.environment_id = $2 and h.status = 'pending' and h.due_at > $3
		and ($4 = '' or a.action_key = $4) and ($5 = '' or h.risk_class = $5))
select jsonb_build_object(
	'pending', count(*),
	'within_hour', count(*) filter (where due_at < $3::timestamptz + interval '1 hour'),
	'within_day', count(*) filter (where due_at < $3::timestamptz + interval '24 hours'),
	'reminded', count(*) filter (where reminded_at is not null),
	'partly_approved', count(*) filter (where partly),
	'oldest_opened_at', min(opened_at), 'next_due_at', min(due_at),
	'by_risk', (select coalesce(jsonb_agg(jsonb_build_object('key', k, 'count', n) order by k), '[]') from
		(select risk_class k, count(*) n from waiting group by 1) r),
	'by_action', (select coalesce(jsonb_agg(jsonb_build_object('key', k, 'count', n) order by n desc, k), '[]') from
		(select action_key k, count(*) n from waiting group by 1 order by n desc, k limit 200) a))
from waiting`

// CountHolds counts the environment's pending holds that are not due at now. action and risk narrow it if they are not empty.
// By action, it lists the 200 actions with the most holds.
func CountHolds(ctx context.Context, q *pg.Q, s pg.Scope, action, risk string, now time.Time) (QueueCounts, error) {
	var c QueueCounts
	var raw []byte
	if err := q.QueryRow(ctx, countHolds, s.Tenant, s.Environment, now, action, risk).Scan(&raw); err != nil {
		return c, err
	}
	return c, json.Unmarshal(raw, &c)
}

// relatedStatement reads the newest holds of each status, each from its range of the index holds_newest.
var relatedStatement = `select h.authorization_id, h.action_id, s.external_id as subject, h.status, h.opened_at, h.due_at, coalesce(a.outcome, '') as outcome, d.details
	from unnest(array['pending', 'approved', 'rejected', 'expired', 'withdrawn']) as each(status)
	cross join lateral (select * from holds where tenant_id = @tenant and environment_id = @environment and status = each.status and authorization_id <> @id
		order by opened_at desc, authorization_id desc limit @limit) h
	join authorizations a on a.id = h.authorization_id and a.environment_id = @environment
	` + subjectrow.JoinIn("h", "@environment") + `
	join shown_details d on d.authorization_id = h.authorization_id and d.environment_id = @environment
	order by h.opened_at desc, h.authorization_id desc`

// relatedHold is a hold with its sealed details.
type relatedHold struct {
	AuthorizationID, ActionID, Subject, Outcome string
	Status                                      models.HoldStatus
	OpenedAt, DueAt                             time.Time
	Details                                     []byte
}

// newestHolds returns the newest holds of each status that show details, except one, newest first.
func newestHolds(ctx context.Context, q *pg.Q, s pg.Scope, except string, each int) ([]relatedHold, error) {
	var rows []relatedHold
	err := q.Gorm(ctx).Raw(relatedStatement, map[string]any{"tenant": s.Tenant, "environment": s.Environment, "id": except, "limit": each}).Find(&rows).Error
	return rows, err
}
