package hold

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/authz/settle"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// GetHold returns the hold of an authorization of the environment, for pages.
func GetHold(ctx context.Context, q *pg.Q, s pg.Scope, authorization string) (models.Hold, error) {
	var row models.Hold
	err := pg.Unchecked(q.Gorm(ctx)).Where("tenant_id = ? and environment_id = ? and authorization_id = ?", s.Tenant, s.Environment, authorization).
		Take(&row).Error
	return pg.OrNotFound(row, err)
}

// Case is a hold with everything that its moves read of it.
type Case struct {
	models.Hold
	settle.Case
	Outcome           *string // of the held decision
	OutcomeReportedAt *time.Time
	Receipt           []byte            // the response to the review that settled the hold, without the proof of the follow-up decision
	Teams             []models.HoldTeam `gorm:"serializer:rows"` // what the hold requires of teams
	Reviews           []models.Review   `gorm:"serializer:rows"` // without their receipts
}

const caseOfHold = "select r.*, " + settle.CaseColumns + `, a.outcome, a.outcome_reported_at,
	(select v.receipt from reviews v where v.environment_id = r.environment_id and v.authorization_id = r.authorization_id and v.receipt is not null) as receipt,
	(select coalesce(jsonb_agg(to_jsonb(t) order by t.team), '[]') from hold_teams t
		where t.environment_id = r.environment_id and t.authorization_id = r.authorization_id) as teams,
	(select coalesce(jsonb_agg(to_jsonb(v) - 'receipt'), '[]') from reviews v
		where v.environment_id = r.environment_id and v.authorization_id = r.authorization_id) as reviews
	from holds r` + settle.CaseTables + " where r.environment_id = ? and r.authorization_id = ? and ? in ('', r.tenant_id)"

// readCase returns the hold of an authorization, and the request of a move of it if there is a digest. The scope of the hold's workflow has no
// tenant.
func readCase(ctx context.Context, q *pg.Q, s pg.Scope, authorization string, request []byte) (Case, error) {
	var c Case
	c, err := pg.OrNotFound(c, q.Gorm(ctx).Raw(caseOfHold, authorization, request, s.Environment, authorization, s.Tenant).Take(&c).Error)
	if err == nil {
		err = c.VerifyRequest(ctx, q)
	}
	return c, err
}

// verify fails if a row by which an approval of the hold is counted was altered or is missing (pg.Altered).
func (c Case) verify(ctx context.Context, q *pg.Q) error {
	if err := pg.Verify(ctx, q, c.Hold); err != nil {
		return err
	}
	if len(c.Teams) < c.TeamsRequired {
		return q.Missing(c.scope(), "hold_teams", c.AuthorizationID)
	}
	if err := pg.Verify(ctx, q, c.Teams...); err != nil {
		return err
	}
	return pg.Verify(ctx, q, c.Reviews...)
}

// queuePending adds a guard: the hold is pending and not due, and stays so until the transaction ends.
func queuePending(b *pgx.Batch, h models.Hold, at time.Time) {
	b.Queue(`select 1 / count(*) from (select from holds where environment_id = $1 and authorization_id = $2
		and status = 'pending' and due_at > $3 for update) pending`, h.EnvironmentID, h.AuthorizationID, at)
}

// resolution is how a review settles a hold.
type resolution struct {
	to    models.HoldStatus
	by    string
	at    time.Time
	child *string // the follow-up decision of an approval
}

// queueResolve adds the move of a pending hold that is not due to approved or rejected. It fails if the hold is not.
func queueResolve(b *pgx.Batch, h models.Hold, r resolution) {
	b.Queue(`with moved as (update holds set status = $3, resolved_at = $4, resolved_by = $5, child_authorization_id = $6
		where environment_id = $1 and authorization_id = $2 and status = 'pending' and due_at > $4 returning 1)
		select 1 / count(*) from moved`, h.EnvironmentID, h.AuthorizationID, string(r.to), r.at, r.by, r.child)
}

// queueExpire adds the move of a pending hold that is due to expired. It fails if the hold is not.
func queueExpire(b *pgx.Batch, h models.Hold, at time.Time) {
	b.Queue(`with moved as (update holds set status = 'expired', resolved_at = $3
		where environment_id = $1 and authorization_id = $2 and status = 'pending' and due_at <= $3 returning 1)
		select 1 / count(*) from moved`, h.EnvironmentID, h.AuthorizationID, at)
}

// VoidedHold is a pending hold that a change of its subject ended.
type VoidedHold struct {
	challenge.Voided
	OpenedAt, DueAt time.Time
}

// ExpireHoldsOfSubject moves the pending holds of a subject to expired before they are due, and returns them.
func ExpireHoldsOfSubject(ctx context.Context, q *pg.Q, s pg.Scope, uid string, at time.Time) ([]VoidedHold, error) {
	var rows []VoidedHold
	err := q.Gorm(ctx).Raw(`with voided as (
			update holds set status = 'expired', resolved_at = @at
			where subject_uid = @uid and tenant_id = @tenant and environment_id = @environment and status = 'pending' and due_at > @at
			returning authorization_id, opened_at, due_at)
		select v.authorization_id as id, v.authorization_id, v.opened_at, v.due_at, a.action_key, a.decision
		from voided v join authorizations a on a.id = v.authorization_id and a.environment_id = @environment order by v.authorization_id`,
		map[string]any{"at": at, "uid": uid, "tenant": s.Tenant, "environment": s.Environment}).Find(&rows).Error
	return rows, err
}

// queueAssign adds the move of a pending hold that is not due from a reviewer to another; "" is no one. It fails if the hold is not.
func queueAssign(b *pgx.Batch, h models.Hold, from, to string, at time.Time) {
	b.Queue(`with moved as (update holds set assigned_to = nullif($3, ''), assigned_at = case when $3 = '' then null else $4::timestamptz end
		where environment_id = $1 and authorization_id = $2 and status = 'pending' and due_at > $4 and coalesce(assigned_to, '') = $5 returning 1)
		select 1 / count(*) from moved`, h.EnvironmentID, h.AuthorizationID, to, at, from)
}

// queueRemind adds the mark of a pending hold as reminded. It fails if the hold is not pending, or marked.
func queueRemind(b *pgx.Batch, h models.Hold, at time.Time) {
	b.Queue(`with moved as (update holds set reminded_at = $3
		where environment_id = $1 and authorization_id = $2 and status = 'pending' and reminded_at is null returning 1)
		select 1 / count(*) from moved`, h.EnvironmentID, h.AuthorizationID, at)
}

// queueSameReviews adds a guard: the reviews are those of the case. Reviews are recorded one after the other, because each transaction
// has the row of the hold locked before.
func queueSameReviews(b *pgx.Batch, c Case) {
	last := time.Time{}
	for _, r := range c.Reviews {
		last = latest(last, r.At)
	}
	b.Queue(`select 1 / (count(*) = $3 and coalesce(max(at) = $4, true))::int from reviews
		where environment_id = $1 and authorization_id = $2`, c.EnvironmentID, c.AuthorizationID, len(c.Reviews), last)
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// queueReview adds the resolution of a reviewer. A reviewer has one resolution for a hold; a later one replaces it.
func queueReview(b *pgx.Batch, r models.Review) {
	b.Queue(`insert into reviews (authorization_id, reviewer, resolution, note_digest, at, receipt, principal, environment_id, row_mac)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict on constraint reviews_pkey
		do update set resolution = $3, note_digest = $4, at = $5, receipt = $6, principal = $7, row_mac = $9`,
		r.AuthorizationID, r.Reviewer, r.Resolution, r.NoteDigest, r.At, r.Receipt, r.Principal, r.EnvironmentID, r.RowMAC)
}

// queueRejection adds the outcome of a rejected hold to its authorization. It fails if the relying party has reported one meanwhile.
func queueRejection(b *pgx.Batch, h models.Hold, noteDigest *string, at time.Time) {
	b.Queue(`with moved as (update authorizations set outcome = 'manually_rejected', outcome_reported_at = $3, outcome_note_digest = $4
		where environment_id = $1 and id = $2 and (outcome is null or outcome = 'unknown') returning 1)
		select 1 / count(*) from moved`, h.EnvironmentID, h.AuthorizationID, at, noteDigest)
}

// inGoodStanding is the condition that a review r of a hold h counts. Of a settled hold every review counts. Of a pending
// hold only reviews of reviewers in good standing count, at the time that replaces @at: a credential that is neither
// revoked nor expired nor given to a different principal, or a person who is still a reviewer of the environment. A requester who approved before
// self-review was barred does not count any more. A hold that asks for two people counts only people who were confirmed when it was opened.
var inGoodStanding = `(h.status <> 'pending' or case
	when (h.self_review_barred or (select e.bar_self_review from environments e where e.id = h.environment_id))
		and r.principal in ` + requesters + ` then false
	when r.reviewer like 'credential:%' then exists (select from credentials c where c.id = substr(r.reviewer, 12)
		and c.environment_id = h.environment_id and c.revoked_at is null and (c.ends_at is null or c.ends_at > @at) and c.former_principal is null)
	when r.reviewer like 'person:%' then exists (select from people p join person_roles pr on pr.person_id = p.id
		where p.id = substr(r.reviewer, 8) and p.tenant_id = h.tenant_id and p.revoked_at is null
		and pr.environment_id = h.environment_id and pr.role = 'reviewer')
	else false end and (` + forOne + ` or ` + confirmedReviewer + `))`

// forOne is the condition that a hold h asks for one person only: for one approval, in an environment that requires no second approver.
const forOne = `(h.approvals_required < 2 and not exists (select from environments e where e.id = h.environment_id and e.second_approver_required))`

// confirmedReviewer is the condition that the principal of a review r was a confirmed person, or none, when its hold h was opened.
var confirmedReviewer = strings.NewReplacer("@principal", "r.principal", "@tenant", "h.tenant_id", "@since", "h.opened_at").
	Replace(identity.ConfirmedPerson)

// countsPerson reports whether a hold counts an actor as far as it asks for confirmed people: it asks for one person only, or the principal of
// the actor was a confirmed person, or none, when it was opened.
func countsPerson(ctx context.Context, q *pg.Q, h models.Hold, actor string) (bool, error) {
	var counts bool
	err := q.QueryRow(ctx, "select "+forOne+" or "+confirmedReviewer+` from
		(select $1::int as approvals_required, $2::text as environment_id, $3::text as tenant_id, $4::timestamptz as opened_at) h,
		(select coalesce((select principal from people where tenant_id = $3 and id = substr($5, 8)),
			(select principal from credentials where environment_id = $2 and id = substr($5, 12)), $5::text) as principal) r`,
		h.ApprovalsRequired, h.EnvironmentID, h.TenantID, h.OpenedAt, actor).Scan(&counts)
	return counts, err
}

// requesters are the principals, present and former, of the credential that requested the decision of the hold h.
const requesters = `(select unnest(array_remove(array[c.principal, c.former_principal], null)) from authorizations a join credentials c on c.id = a.credential_id and c.environment_id = a.environment_id
			where a.id = h.authorization_id and a.environment_id = h.environment_id)`

// countedApprovals counts the principals whose approval of the hold h counts.
var countedApprovals = `(select count(distinct r.principal) from reviews r
	where r.authorization_id = h.authorization_id and r.environment_id = h.environment_id and r.resolution = 'approve' and ` + inGoodStanding + `)`

// checkCounted fails if a row was altered by which SQL counted the approvals of a hold (pg.Altered).
func checkCounted(ctx context.Context, q *pg.Q, given []Approver) error {
	for _, a := range given {
		if err := errors.Join(pg.Verify(ctx, q, a.Environment), pg.Verify(ctx, q, a.Credentials...), pg.Verify(ctx, q, a.People...),
			pg.Verify(ctx, q, a.Roles...), pg.Verify(ctx, q, a.Deputies...)); err != nil {
			return err
		}
	}
	return nil
}

// checkDeputy fails if what makes an approver the deputy of an absent person was altered (pg.Altered).
func checkDeputy(ctx context.Context, q *pg.Q, s pg.Scope, a Approver) error {
	if a.Absent == "" {
		return nil
	}
	return q.Gorm(ctx).Where(pg.InScope+" and person_id = ?", s.Tenant, s.Environment, personOf(a.Absent)).Find(&[]models.Deputy{}).Error
}

// OverdueHolds returns at most limit holds of any environment that should have expired before t.
func OverdueHolds(ctx context.Context, q *pg.Q, t time.Time, limit int) ([]settle.Overdue, error) {
	var rows []settle.Overdue
	err := q.Gorm(ctx).Raw("select environment_id as environment, authorization_id as id from holds where status = 'pending' and due_at < ? order by due_at limit ?", t, limit).Find(&rows).Error
	return rows, err
}
