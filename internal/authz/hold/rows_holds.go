package hold

import (
	"context"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// GetHold returns the hold of an authorization of the environment.
func GetHold(ctx context.Context, q *pg.Q, s pg.Scope, authorization string) (models.Hold, error) {
	var row models.Hold
	err := q.Gorm(ctx).Where("tenant_id = ? and environment_id = ? and authorization_id = ?", s.Tenant, s.Environment, authorization).
		Take(&row).Error
	return pg.OrNotFound(row, err)
}

// Case is a hold with the rows that a transition of it needs.
type Case struct {
	Hold    models.Hold
	Parent  models.Authorization
	Subject string // the relying party's id of the subject
}

// lockCase returns the hold of an authorization of an environment, for the hold's workflow. It locks the hold until the transaction ends.
func lockCase(ctx context.Context, q *pg.Q, environment, authorization string) (Case, error) {
	var c Case
	if err := q.Gorm(ctx).Raw("select * from holds where environment_id = ? and authorization_id = ? for update", environment, authorization).Take(&c.Hold).Error; err != nil {
		return pg.OrNotFound(c, err)
	}
	if err := q.Gorm(ctx).Where("environment_id = ? and id = ?", environment, authorization).Take(&c.Parent).Error; err != nil {
		return pg.OrNotFound(c, err)
	}
	var err error
	c.Subject, err = q.Subjects().ExternalID(ctx, environment, c.Hold.SubjectUID)
	return c, err
}

// resolveHold moves a pending hold that is not due to approved or rejected and reports whether it did.
func resolveHold(ctx context.Context, q *pg.Q, h models.Hold, to models.HoldStatus, by string, at time.Time) (bool, error) {
	n, err := q.Exec(ctx, `update holds set status = $2, resolved_at = $3, resolved_by = $4
		where authorization_id = $1 and environment_id = $5 and status = 'pending' and due_at > $3`, h.AuthorizationID, string(to), at, by, h.EnvironmentID)
	return n == 1, err
}

// expireHold moves a pending hold that is due to expired and reports whether it did.
func expireHold(ctx context.Context, q *pg.Q, environment, authorization string, at time.Time) (bool, error) {
	n, err := q.Exec(ctx, `update holds set status = 'expired', resolved_at = $2
		where authorization_id = $1 and environment_id = $3 and status = 'pending' and due_at <= $2`, authorization, at, environment)
	return n == 1, err
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

// assignHold moves a pending hold that is not due from a reviewer to another and reports whether it did; "" is no one.
func assignHold(ctx context.Context, q *pg.Q, s pg.Scope, authorization, from, to string, at time.Time) (bool, error) {
	n, err := q.Exec(ctx, `update holds set assigned_to = nullif($4, ''), assigned_at = case when $4 = '' then null else $5::timestamptz end
		where tenant_id = $1 and environment_id = $2 and authorization_id = $3 and status = 'pending' and due_at > $5
			and coalesce(assigned_to, '') = $6`, s.Tenant, s.Environment, authorization, to, at, from)
	return n == 1, err
}

// remindHold marks a pending hold as reminded and reports whether it did.
func remindHold(ctx context.Context, q *pg.Q, environment, authorization string, at time.Time) (bool, error) {
	n, err := q.Exec(ctx, `update holds set reminded_at = $2
		where authorization_id = $1 and environment_id = $3 and status = 'pending' and reminded_at is null`, authorization, at, environment)
	return n == 1, err
}

// setHoldFollowUp records the follow-up decision of an approved hold.
func setHoldFollowUp(ctx context.Context, q *pg.Q, environment, authorization, child string) error {
	_, err := q.Exec(ctx, "update holds set child_authorization_id = $2 where authorization_id = $1 and environment_id = $3", authorization, child, environment)
	return err
}

// putReview stores the resolution of a reviewer. A reviewer has one resolution for a hold; a later one replaces it. It reports whether
// the reviewer had already resolved so, with the same note.
func putReview(ctx context.Context, q *pg.Q, r models.Review) (repeated bool, err error) {
	err = q.QueryRow(ctx, `with before as (select * from reviews where authorization_id = $1 and reviewer = $2 and environment_id = $8)
		insert into reviews (authorization_id, reviewer, resolution, note_digest, at, receipt, principal, environment_id)
		values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict on constraint reviews_pkey
		do update set resolution = $3, note_digest = $4, at = $5, receipt = $6, principal = $7
		returning exists (select from before b where (b.resolution, b.note_digest, b.principal)
			is not distinct from (reviews.resolution, reviews.note_digest, reviews.principal))`,
		r.AuthorizationID, r.Reviewer, r.Resolution, r.NoteDigest, r.At, r.Receipt, r.Principal, r.EnvironmentID).Scan(&repeated)
	return repeated, err
}

// resolutionBy returns the reviewer's resolution of a hold, or "" if there is none.
func resolutionBy(ctx context.Context, q *pg.Q, h models.Hold, reviewer string) (string, error) {
	var resolutions []string
	err := q.Gorm(ctx).Raw("select resolution from reviews where environment_id = ? and authorization_id = ? and reviewer = ?", h.EnvironmentID, h.AuthorizationID, reviewer).
		Find(&resolutions).Error
	if err != nil || len(resolutions) == 0 {
		return "", err
	}
	return resolutions[0], nil
}

// StoredReceipt is the response to the review that settled a hold, without the proof of the follow-up decision.
type StoredReceipt struct {
	Body  []byte
	Child *string // the authorization of the follow-up decision
}

// reviewReceipt returns the receipt of a settled hold.
func reviewReceipt(ctx context.Context, q *pg.Q, h models.Hold) (StoredReceipt, error) {
	var r StoredReceipt
	err := q.QueryRow(ctx, `select r.receipt, h.child_authorization_id
		from reviews r join holds h on h.authorization_id = r.authorization_id and h.environment_id = $2
		where r.authorization_id = $1 and r.environment_id = $2 and r.receipt is not null`, h.AuthorizationID, h.EnvironmentID).Scan(&r.Body, &r.Child)
	return pg.OrNotFound(r, err)
}

// recordRejection records the outcome of a rejected hold on its authorization, and returns the outcome that the authorization has: the
// relying party may have reported one while the hold waited.
func recordRejection(ctx context.Context, q *pg.Q, h models.Hold, noteDigest *string, at time.Time) (outcome string, reportedAt time.Time, err error) {
	err = q.QueryRow(ctx, `update authorizations set outcome = coalesce(nullif(outcome, 'unknown'), 'manually_rejected'),
		outcome_reported_at = case when outcome <> 'unknown' then outcome_reported_at else $2 end,
		outcome_note_digest = case when outcome <> 'unknown' then outcome_note_digest else $3 end
		where id = $1 and environment_id = $4 returning outcome, outcome_reported_at`,
		h.AuthorizationID, at, noteDigest, h.EnvironmentID).Scan(&outcome, &reportedAt)
	return outcome, reportedAt, err
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
var confirmedReviewer = strings.NewReplacer("@principal", "coalesce(r.principal, r.reviewer)", "@tenant", "h.tenant_id", "@since", "h.opened_at").
	Replace(identity.ConfirmedPerson)

// countsPerson reports whether a hold counts an actor as far as it asks for confirmed people: it asks for one person only, or the principal of
// the actor was a confirmed person, or none, when it was opened.
func countsPerson(ctx context.Context, q *pg.Q, h models.Hold, actor string) (bool, error) {
	var counts bool
	err := q.QueryRow(ctx, "select "+forOne+" or "+confirmedReviewer+` from
		(select $1::int as approvals_required, $2::text as environment_id, $3::text as tenant_id, $4::timestamptz as opened_at) h,
		(select $5::text as reviewer, coalesce((select principal from people where tenant_id = $3 and id = substr($5, 8)),
			(select principal from credentials where environment_id = $2 and id = substr($5, 12))) as principal) r`,
		h.ApprovalsRequired, h.EnvironmentID, h.TenantID, h.OpenedAt, actor).Scan(&counts)
	return counts, err
}

// requesters are the principals, present and former, of the credential that requested the decision of the hold h.
const requesters = `(select unnest(array_remove(array[c.principal, c.former_principal], null)) from authorizations a join credentials c on c.id = a.credential_id and c.environment_id = a.environment_id
			where a.id = h.authorization_id and a.environment_id = h.environment_id)`

// isSelfReviewed reports whether the requester is among those whose approval of a hold counts at a time.
func isSelfReviewed(ctx context.Context, q *pg.Q, h models.Hold, at time.Time) (bool, error) {
	var own bool
	err := q.QueryRow(ctx, `select exists (select from reviews r join holds h on h.authorization_id = r.authorization_id and h.environment_id = r.environment_id
		where r.authorization_id = $1 and r.environment_id = $3 and r.resolution = 'approve' and r.principal in `+requesters+`
			and `+strings.ReplaceAll(inGoodStanding, "@at", "$2::timestamptz")+`)`, h.AuthorizationID, at, h.EnvironmentID).Scan(&own)
	return own, err
}

// countedApprovals counts the principals whose approval of the hold h counts.
var countedApprovals = `(select count(distinct coalesce(r.principal, r.reviewer)) from reviews r
	where r.authorization_id = h.authorization_id and r.environment_id = h.environment_id and r.resolution = 'approve' and ` + inGoodStanding + `)`

// countApprovals counts the distinct principals who approve a hold and are in good standing at a time.
func countApprovals(ctx context.Context, q *pg.Q, h models.Hold, at time.Time) (int, error) {
	var n int
	err := q.QueryRow(ctx, "select "+strings.ReplaceAll(countedApprovals, "@at", "$2::timestamptz")+" from holds h where h.authorization_id = $1 and h.environment_id = $3",
		h.AuthorizationID, at, h.EnvironmentID).Scan(&n)
	return n, err
}

// OverdueHolds returns at most limit holds of any environment that should have expired before t.
func OverdueHolds(ctx context.Context, q *pg.Q, t time.Time, limit int) ([]challenge.Overdue, error) {
	var rows []challenge.Overdue
	err := q.Gorm(ctx).Raw("select environment_id as environment, authorization_id as id from holds where status = 'pending' and due_at < ? order by due_at limit ?", t, limit).Find(&rows).Error
	return rows, err
}
