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

// Case is a hold with everything that its moves read.
type Case struct {
	models.Hold
	settle.Case
	Outcome           *string // of the held decision
	OutcomeReportedAt *time.Time
	Receipt           []byte            // the response to the review that settled the hold, without the proof of the follow-up decision
	Steps             []models.HoldStep `gorm:"serializer:rows"` // in their order; none for a hold without steps
	Teams             []models.HoldTeam `gorm:"serializer:rows"` // what the hold requires of teams
	Reviews           []models.Review   `gorm:"serializer:rows"` // without their receipts

	ending models.Ending // of a move by time
}

var caseOfHold = "select r.*, " + holds.Ended("r", "@environment") + " as put_back, " + settle.CaseColumns + `, a.outcome, a.outcome_reported_at,
	(select v.receipt from reviews v where v.environment_id = @environment and v.authorization_id = @id and v.receipt is not null) as receipt,
	(select coalesce(jsonb_agg(to_jsonb(p) order by p.step), '[]') from hold_steps p
		where p.environment_id = @environment and p.authorization_id = @id) as steps,
	(select coalesce(jsonb_agg(to_jsonb(t) order by t.team), '[]') from hold_teams t
		where t.environment_id = @environment and t.authorization_id = @id) as teams,
	(select coalesce(jsonb_agg(to_jsonb(v) - 'receipt'), '[]') from reviews v
		where v.environment_id = @environment and v.authorization_id = @id) as reviews
	from holds r` + settle.CaseTables + " where r.environment_id = @environment and r.authorization_id = @id and @tenant in ('', r.tenant_id)"

// settledBefore is the status of a hold whose row is an earlier copy, from before it was settled.
const settledBefore models.HoldStatus = "settled"

// readCase returns the hold of an authorization, and the request of a move of it if there is a digest. The scope of the hold's workflow has no
// tenant.
func readCase(ctx context.Context, q *pg.Q, s pg.Scope, authorization string, request []byte) (Case, error) {
	var c Case
	c, err := pg.OrNotFound(c, q.Gorm(ctx).Raw(caseOfHold,
		map[string]any{"environment": s.Environment, "id": authorization, "request": request, "tenant": s.Tenant}).Take(&c).Error)
	if c.PutBack {
		q.NotePutBack(c.scope(), "holds", c.AuthorizationID)
		c.Status = settledBefore
	}
	if err == nil {
		err = c.VerifyRequest(ctx, q)
	}
	return c, err
}

// endingOf returns the ending of a hold, which is pending no more.
func endingOf(ctx context.Context, q *pg.Q, h models.Hold, at time.Time) (models.Ending, error) {
	end := h.DueAt
	if h.EndsAt != nil {
		end = *h.EndsAt
	}
	return pg.Ended(ctx, q, pg.Scope{Tenant: h.TenantID, Environment: h.EnvironmentID},
		models.Left{Record: "holds", State: h.AuthorizationID, EndedAt: at, UselessAt: &end})
}

// verify fails if a row by which an approval of the hold is counted was altered or is missing (pg.Altered).
func (c Case) verify(ctx context.Context, q *pg.Q) error {
	if err := pg.Verify(ctx, q, c.Hold); err != nil {
		return err
	}
	if len(c.Steps)+len(c.Teams) < c.TeamsRequired {
		return q.Missing(c.scope(), "hold_teams", c.AuthorizationID) // or hold_steps: the hold has the number of both
	}
	if err := errors.Join(pg.Verify(ctx, q, c.Steps...), pg.Verify(ctx, q, c.Teams...)); err != nil {
		return err
	}
	return pg.Verify(ctx, q, c.Reviews...)
}

// queuePending adds a guard: the hold is pending and not due, and stays so until the transaction ends.
func queuePending(b *pgx.Batch, h models.Hold, at time.Time) {
	b.Queue(`select guard(count(*) > 0) from (select from holds where environment_id = $1 and authorization_id = $2
		and status = 'pending' and due_at > $3 for update) pending`, h.EnvironmentID, h.AuthorizationID, at)
}

// resolution is how a review or a withdrawal settles a hold.
type resolution struct {
	to    models.HoldStatus
	by    string
	at    time.Time
	child *string // the follow-up decision of an approval
	// ending is that of the hold.
	ending models.Ending
}

// queueResolve adds the move of a pending hold that is not due to approved, rejected or withdrawn. It fails if the hold is not.
func queueResolve(b *pgx.Batch, h models.Hold, r resolution) {
	b.Queue(`with moved as (update holds set status = $3, resolved_at = $4, resolved_by = $5, child_authorization_id = $6
		where environment_id = $1 and authorization_id = $2 and status = 'pending' and due_at > $4 returning 1), ended as (`+pg.EndingOf(7)+`)
		select guard(count(*) > 0) from moved`, append([]any{h.EnvironmentID, h.AuthorizationID, string(r.to), r.at, r.by, r.child}, pg.EndingArgs(r.ending)...)...)
}

// queueExpire adds the move of a pending hold that is due to expired. It fails if the hold is not.
func queueExpire(b *pgx.Batch, h models.Hold, at time.Time, e models.Ending) {
	b.Queue(`with moved as (update holds set status = 'expired', resolved_at = $3
		where environment_id = $1 and authorization_id = $2 and status = 'pending' and due_at <= $3 returning 1), ended as (`+pg.EndingOf(4)+`)
		select guard(count(*) > 0) from moved`, append([]any{h.EnvironmentID, h.AuthorizationID, at}, pg.EndingArgs(e)...)...)
}

// VoidedHold is a pending hold that a change of its subject ended.
type VoidedHold struct {
	challenge.Voided
	OpenedAt, DueAt time.Time
}

// ExpireHoldsOfSubject moves the pending holds of a subject that were opened before a time to expired before they are due, as they are stored, and
// returns them.
func ExpireHoldsOfSubject(ctx context.Context, q *pg.Q, s pg.Scope, uid string, before, at time.Time) ([]VoidedHold, error) {
	q = q.AsStored()
	// Reading them records those that were altered (pg.Q.AsStored).
	if err := q.Gorm(ctx).Where(pg.InScope+" and subject_uid = ? and status = 'pending'", s.Tenant, s.Environment, uid).Find(&[]models.Hold{}).Error; err != nil {
		return nil, err
	}
	var rows []VoidedHold
	err := q.Gorm(ctx).Raw(`with voided as (
			update holds set status = 'expired', resolved_at = @at
			where subject_uid = @uid and tenant_id = @tenant and environment_id = @environment and status = 'pending' and due_at > @at
			and opened_at <= @before returning authorization_id, opened_at, due_at, coalesce(ends_at, due_at) as expires_at)
		select v.authorization_id as id, v.authorization_id, v.opened_at, v.due_at, v.expires_at, a.action_key, a.decision
		from voided v join authorizations a on a.id = v.authorization_id and a.environment_id = @environment order by v.authorization_id`,
		map[string]any{"before": before, "at": at, "uid": uid, "tenant": s.Tenant, "environment": s.Environment}).Find(&rows).Error
	if err != nil {
		return nil, err
	}
	voided := make([]challenge.Voided, len(rows))
	for i, r := range rows {
		voided[i] = r.Voided
	}
	return rows, challenge.EndVoided(ctx, q, s, "holds", at, voided)
}

// queueAssign adds the move of a pending hold that is not due from a reviewer to another; "" is no one. It fails if the hold is not.
func queueAssign(b *pgx.Batch, h models.Hold, from, to string, at time.Time) {
	b.Queue(`with moved as (update holds set assigned_to = nullif($3, ''), assigned_at = case when $3 = '' then null else $4::timestamptz end
		where environment_id = $1 and authorization_id = $2 and status = 'pending' and due_at > $4 and coalesce(assigned_to, '') = $5 returning 1)
		select guard(count(*) > 0) from moved`, h.EnvironmentID, h.AuthorizationID, to, at, from)
}

// queueSatisfied adds the mark of a step that it has its approvals, unless it is marked.
func queueSatisfied(b *pgx.Batch, s models.HoldStep, at time.Time) {
	b.Queue("update hold_steps set satisfied_at = $4 where environment_id = $1 and authorization_id = $2 and step = $3 and satisfied_at is null",
		s.EnvironmentID, s.AuthorizationID, s.Step, at)
}

// queueOpen adds the opening of a step, and moves the time at which its hold expires. It fails if the step is open already.
func queueOpen(b *pgx.Batch, h models.Hold, s models.HoldStep) {
	b.Queue(`with opened as (update hold_steps set opened_at = $4, due_at = $5, row_mac = $6
		where environment_id = $1 and authorization_id = $2 and step = $3 and opened_at is null returning 1)
		select guard(count(*) > 0) from opened`, s.EnvironmentID, s.AuthorizationID, s.Step, s.OpenedAt, s.DueAt, s.RowMAC)
	b.Queue("update holds set due_at = $3, row_mac = $4 where environment_id = $1 and authorization_id = $2", h.EnvironmentID, h.AuthorizationID, h.DueAt, h.RowMAC)
}

// queueFixed adds who approves an entry of a step that opens, and when it escalates.
func queueFixed(b *pgx.Batch, t models.HoldTeam) {
	b.Queue(`update hold_teams set person = $5, fallback_reason = $6, row_mac = $7, escalate_at = $8
		where environment_id = $1 and authorization_id = $2 and step = $3 and team = $4`,
		t.EnvironmentID, t.AuthorizationID, t.Step, t.Team, t.Person, t.FallbackReason, t.RowMAC, t.EscalateAt)
}

// queueRemind adds the mark of a pending hold as reminded. It fails if the hold is not pending, or marked.
func queueRemind(b *pgx.Batch, h models.Hold, at time.Time) {
	b.Queue(`with moved as (update holds set reminded_at = $3
		where environment_id = $1 and authorization_id = $2 and status = 'pending' and reminded_at is null returning 1)
		select guard(count(*) > 0) from moved`, h.EnvironmentID, h.AuthorizationID, at)
}

// queueSameReviews adds a guard: the reviews are those of the case. Reviews are recorded one after the other, because each transaction
// has the row of the hold locked before.
func queueSameReviews(b *pgx.Batch, c Case) {
	last := time.Time{}
	for _, r := range c.Reviews {
		last = latest(last, r.At)
	}
	b.Queue(`select guard(count(*) = $3 and coalesce(max(at) = $4, true)) from reviews
		where environment_id = $1 and authorization_id = $2`, c.EnvironmentID, c.AuthorizationID, len(c.Reviews), last)
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// queueReview adds the resolution of a reviewer. A reviewer has one resolution in each step of a hold; a later one replaces it.
func queueReview(b *pgx.Batch, r models.Review) {
	b.Queue(`insert into reviews (authorization_id, reviewer, step, resolution, note_digest, at, receipt, principal, environment_id, row_mac)
		values ($1, $2, $10, $3, $4, $5, $6, $7, $8, $9) on conflict on constraint reviews_pkey
		do update set resolution = $3, note_digest = $4, at = $5, receipt = $6, principal = $7, row_mac = $9`,
		r.AuthorizationID, r.Reviewer, r.Resolution, r.NoteDigest, r.At, r.Receipt, r.Principal, r.EnvironmentID, r.RowMAC, r.Step)
}

// queueRejection adds the outcome of a rejected hold to its authorization. It fails if the relying party has reported one meanwhile.
func queueRejection(b *pgx.Batch, h models.Hold, noteDigest *string, at time.Time) {
	b.Queue(`with moved as (update authorizations set outcome = 'manually_rejected', outcome_reported_at = $3, outcome_note_digest = $4
		where environment_id = $1 and id = $2 and (outcome is null or outcome = 'unknown') returning 1)
		select guard(count(*) > 0) from moved`, h.EnvironmentID, h.AuthorizationID, at, noteDigest)
}

// inGoodStanding is the condition that a review r of a hold h counts. Of a settled hold every review counts. Of a pending
// hold only reviews of reviewers in good standing count, at the time @at in the environment @environment: a credential that is neither
// revoked nor expired nor given to a different principal, or a person who is still a reviewer of the environment. A requester who approved before
// self-review was barred does not count any more, nor does one who may be the requester. A hold that asks for two people counts only people who
// were confirmed when it was opened.
var inGoodStanding = "(h.status <> 'pending' or " + hasAuthority + ")"

// hasAuthority is the condition that a review r would count if its hold h were pending.
var hasAuthority = `(case
	when (h.self_review_barred or (select e.bar_self_review from environments e where e.id = h.environment_id))
		and exists (select from unnest(` + requesters + `) as asked(principal) where ` + sameAsReviewer + `) then false
	when r.reviewer like 'credential:%' then exists (select from credentials c where c.id = substr(r.reviewer, 12)
		and c.environment_id = h.environment_id and c.revoked_at is null and (c.ends_at is null or c.ends_at > @at) and c.former_principal is null and ` + pg.NotEnded("credentials", "c") + `)
	when r.reviewer like 'person:%' then exists (select from people p join person_roles pr on pr.person_id = p.id
		where p.id = substr(r.reviewer, 8) and p.tenant_id = h.tenant_id and pr.environment_id = h.environment_id and ` + reviewerHasAccess + `)
	else false end and (` + forOne + ` or ` + confirmedReviewer + `))`

// forOne is the condition that a hold h asks for one person only: for one approval, which the requester may give, in an environment that requires
// no second approver.
const forOne = `(h.approvals_required < 2 and not h.self_review_barred
	and not exists (select from environments e where e.id = h.environment_id and (e.second_approver_required or e.bar_self_review)))`

// sameAsReviewer is the condition that the principal of a review r may be a principal that requested its hold h.
var sameAsReviewer = strings.NewReplacer("@a", "r.principal", "@b", "asked.principal", "@tenant", "h.tenant_id").Replace(identity.SamePerson)

// confirmedReviewer is the condition that the principal of a review r was a confirmed person, or none, when its hold h was opened.
var confirmedReviewer = strings.NewReplacer("@principal", "r.principal", "@tenant", "h.tenant_id", "@since", "h.opened_at").
	Replace(identity.ConfirmedPerson)

// countsPerson reports whether a hold counts an actor as far as it asks for confirmed people: it asks for one person only, or the principal of
// the actor was a confirmed person, or none, when it was opened.
func countsPerson(ctx context.Context, q *pg.Q, h models.Hold, actor string) (bool, error) {
	var counts bool
	err := q.QueryRow(ctx, "select "+forOne+" or "+confirmedReviewer+` from
		(select $1::int as approvals_required, $2::text as environment_id, $3::text as tenant_id, $4::timestamptz as opened_at, $6::bool as self_review_barred) h,
		(select coalesce((select principal from people where tenant_id = $3 and id = substr($5, 8)),
			(select principal from credentials where environment_id = $2 and id = substr($5, 12)), $5::text) as principal) r`,
		h.ApprovalsRequired, h.EnvironmentID, h.TenantID, h.OpenedAt, actor, h.SelfReviewBarred).Scan(&counts)
	return counts, err
}

// requesters are the principals, present and former, of the credential that requested the decision of the hold h.
const requesters = `(select array_remove(array[c.principal, c.former_principal], null) from authorizations a join credentials c on c.id = a.credential_id and c.environment_id = a.environment_id
			where a.id = h.authorization_id and a.environment_id = @environment)`

// countedApprovals counts the principals whose approval of the hold h counts, in each step.
var countedApprovals = `(select count(distinct (r.principal, r.step)) from reviews r
	where r.authorization_id = h.authorization_id and r.environment_id = @environment and r.resolution = 'approve' and ` + inGoodStanding + `)`

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
