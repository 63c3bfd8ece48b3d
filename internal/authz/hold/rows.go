package hold

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"gorm.io/gorm"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/settle"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// wantedOf returns what holds require of teams, by hold and team, and their steps in order, for lists.
func wantedOf(ctx context.Context, q *pg.Q, s pg.Scope, holds ...string) (teams []models.HoldTeam, steps []models.HoldStep, err error) {
	of := func() *gorm.DB {
		return pg.Unchecked(q.Gorm(ctx)).Where("tenant_id = ? and environment_id = ? and authorization_id in ?", s.Tenant, s.Environment, holds)
	}
	if err := of().Order("authorization_id, team").Find(&teams).Error; err != nil {
		return nil, nil, err
	}
	return teams, steps, of().Order("authorization_id, step").Find(&steps).Error
}

// Approver is an actor who approved a hold and is in good standing. Absent is the person for whom the actor was deputy at the time
// of the approval, if that person is in good standing; empty if there is none.
type Approver struct {
	models.Review
	Absent          string // such as person:prs_...
	AbsentPrincipal string // whom the absent person counts as
	// ByProvider and Providers are those of identity.Behind: what says whether two approvers may be one person.
	ByProvider bool
	Providers  models.Strings

	// The rows by which SQL counts the approval, which approversWith reads: the environment, who the actors are and what they may do. See checkCounted.
	Environment models.Environment  `gorm:"serializer:rows"`
	Credentials []models.Credential `gorm:"serializer:rows"`
	People      []models.Person     `gorm:"serializer:rows"`
	Roles       []models.PersonRole `gorm:"serializer:rows"`
	Deputies    []models.Deputy     `gorm:"serializer:rows"`
}

// behind returns who is behind an approver who is confirmed.
func (a Approver) behind() identity.Behind {
	return identity.Behind{Principal: a.Principal, ByProvider: a.ByProvider, Providers: a.Providers}
}

// TableName makes GORM check the MAC of the review.
func (Approver) TableName() string { return "reviews" }

// reviewerHasAccess is the condition that the role pr of a person p who has access is one of a reviewer, and that none of the rows is an earlier copy.
var reviewerHasAccess = "p.revoked_at is null and pr.role = 'reviewer' and " + pg.NotEnded("people", "p") + " and " + pg.NotEnded("person_roles", "pr")

// deputyAt selects the person in whose place the actor of the alias r could approve at the time r.at.
var deputyAt = `(select 'person:' || d.person_id as absent, coalesce(p.principal, 'person:' || p.id) as absent_principal from deputies d join people p on p.id = d.person_id
	join person_roles pr on pr.person_id = p.id and pr.environment_id = d.environment_id and ` + reviewerHasAccess + `
	where ` + pg.NotEnded("deputies", "d") + ` and d.tenant_id = h.tenant_id and d.environment_id = h.environment_id and 'person:' || d.deputy_id = r.reviewer
	and d.starts_at <= r.at and d.ends_at > r.at order by d.starts_at limit 1)`

// joinedBy selects from where the principal of a review r of the hold h is known.
const joinedBy = `exists (select from people j where j.tenant_id = h.tenant_id and coalesce(j.principal, 'person:' || j.id) = r.principal
		and j.confirmed_at is not null and j.confirmed_by like 'identity_provider:%') as by_provider,
	array(select j.identity_provider_id from people j where j.tenant_id = h.tenant_id and coalesce(j.principal, 'person:' || j.id) = r.principal
		and j.identity_provider_id is not null) as providers`

// approvers selects those whose approvals of holds count, from approvals named r of the holds named h, in the order of the approvals.
var approvers = `select r.authorization_id, r.environment_id, r.reviewer, r.step, r.principal, r.resolution, r.at, r.row_mac, coalesce(d.absent, '') as absent,
	coalesce(d.absent_principal, '') as absent_principal, ` + joinedBy + `@counted from @approvals r
	join holds h on h.authorization_id = r.authorization_id and h.environment_id = r.environment_id left join lateral ` + deputyAt + ` d on true
	where h.tenant_id = @tenant and h.environment_id = @environment and h.authorization_id in @holds and @standing order by r.at, r.reviewer`

// countedRows selects the rows by which an approval r of the hold h counts, in the place of the absent person d.
const countedRows = `,
	(select to_jsonb(e) from environments e where e.tenant_id = h.tenant_id and e.id = h.environment_id) as environment,
	(select jsonb_agg(to_jsonb(c)) from credentials c where c.environment_id = h.environment_id
		and c.id in (substr(r.reviewer, 12), substr(r.principal, 12))) as credentials,
	(select jsonb_agg(to_jsonb(p)) from people p where p.tenant_id = h.tenant_id
		and p.id in (substr(r.reviewer, 8), substr(r.principal, 8), substr(d.absent, 8), substr(d.absent_principal, 8))) as people,
	(select jsonb_agg(to_jsonb(pr)) from person_roles pr where pr.environment_id = h.environment_id
		and pr.person_id in (substr(r.reviewer, 8), substr(r.principal, 8), substr(d.absent, 8), substr(d.absent_principal, 8))) as roles,
	(select jsonb_agg(to_jsonb(x)) from deputies x where x.tenant_id = h.tenant_id and x.environment_id = h.environment_id
		and x.person_id = substr(d.absent, 8)) as deputies`

// approversOf returns who approved the holds and counts at a time. It does not check the reviews: nothing may be decided by it.
func approversOf(ctx context.Context, q *pg.Q, s pg.Scope, at time.Time, holds ...string) ([]Approver, error) {
	var rows []Approver
	err := pg.Unchecked(q.Gorm(ctx)).Raw(strings.NewReplacer("@approvals", "(select * from reviews where environment_id = @environment and resolution = 'approve')", "@standing", inGoodStanding, "@counted", "").Replace(approvers),
		map[string]any{"tenant": s.Tenant, "environment": s.Environment, "holds": holds, "at": at}).Find(&rows).Error
	return rows, err
}

// approversNow returns who approved a hold and has the authority for it at a time, whether or not the hold is settled. It fails if the review of one was
// altered (pg.Altered).
func approversNow(ctx context.Context, q *pg.Q, s pg.Scope, at time.Time, id string) ([]Approver, error) {
	var rows []Approver
	err := q.Gorm(ctx).Raw(strings.NewReplacer("@approvals", "(select * from reviews where environment_id = @environment and resolution = 'approve')", "@standing", hasAuthority, "@counted", countedRows).Replace(approvers),
		map[string]any{"tenant": s.Tenant, "environment": s.Environment, "holds": []string{id}, "at": at}).Find(&rows).Error
	return rows, err
}

// approversWith is like approversOf of one hold, as if the approval r were already stored: it replaces an earlier one of the reviewer. It fails if the
// review of an approver was altered (pg.Altered).
func approversWith(ctx context.Context, q *pg.Q, s pg.Scope, r models.Review) ([]Approver, error) {
	var rows []Approver
	err := q.Gorm(ctx).Raw(strings.NewReplacer("@approvals", `(select authorization_id, environment_id, reviewer, step, principal, resolution, at, row_mac from reviews
			where environment_id = @environment and authorization_id = @hold and resolution = 'approve' and (reviewer <> @reviewer or step <> @step)
		union all select @hold, @environment, @reviewer, cast(@step as int), @principal, 'approve', cast(@at as timestamptz), @mac)`, "@standing", inGoodStanding, "@counted", countedRows).Replace(approvers),
		map[string]any{
			"tenant": s.Tenant, "environment": s.Environment, "holds": []string{r.AuthorizationID}, "hold": r.AuthorizationID, "at": r.At,
			"reviewer": r.Reviewer, "step": r.Step, "principal": r.Principal, "mac": r.RowMAC,
		}).Find(&rows).Error
	return rows, err
}

// standingOf returns an actor as an approver at a time, whether or not the actor has approved anything.
func standingOf(ctx context.Context, q *pg.Q, s pg.Scope, actor, principal string, at time.Time) (Approver, error) {
	out := Approver{Review: models.Review{Reviewer: actor, Principal: principal}}
	err := q.QueryRow(ctx, `select coalesce(d.absent, ''), coalesce(d.absent_principal, ''), `+joinedBy+` from (select $1::text as tenant_id, $2::text as environment_id) h
		cross join (select $3::text as reviewer, $5::text as principal, $4::timestamptz as at) r left join lateral `+deputyAt+` d on true`,
		s.Tenant, s.Environment, actor, at, principal).Scan(&out.Absent, &out.AbsentPrincipal, &out.ByProvider, (*[]string)(&out.Providers))
	return out, err
}

// standingOfHolds is standingOf of an actor with the principal that it has.
func standingOfHolds(ctx context.Context, q *pg.Q, s pg.Scope, actor string, at time.Time) (Approver, error) {
	principal, err := identity.GetPrincipal(ctx, q, s, actor)
	if err != nil {
		return Approver{}, err
	}
	return standingOf(ctx, q, s, actor, principal, at)
}

// queueEscalate adds the record of the escalation of a team. It fails if it is recorded already.
func queueEscalate(b *pgx.Batch, t models.HoldTeam, at time.Time) {
	b.Queue(`with escalated as (update hold_teams set escalated_at = $5 where environment_id = $1 and authorization_id = $2
		and step = $3 and team = $4 and escalated_at is null returning 1) select guard(count(*) > 0) from escalated`,
		t.EnvironmentID, t.AuthorizationID, t.Step, t.Team, at)
}

// insertRequest stores a review for the workflow, and its note unless it is nil. A repeated request or note changes nothing. A review that was
// given is not stored once its reviewer has withdrawn it.
func (s *Service) insertRequest(ctx context.Context, m models.MoveRequest, n *models.ReviewNote, given *models.GivenReview) error {
	b := &pgx.Batch{}
	if given != nil {
		queueStillGiven(b, *given)
	}
	if n != nil {
		b.Queue(`insert into review_notes (authorization_id, reviewer, tenant_id, environment_id, subject_uid, note_digest, note, written_at)
			values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict do nothing`,
			n.AuthorizationID, n.Reviewer, n.TenantID, n.EnvironmentID, n.SubjectUID, n.NoteDigest, n.Note, n.WrittenAt)
	}
	if err := settle.QueueMove(ctx, s.store.Q, b, m); err != nil {
		return err
	}
	err := s.store.Q.Batch(ctx, b)
	if pg.Changed(err) {
		return problem.New(problem.Conflict, "The review was withdrawn.")
	}
	return err
}

// notesOfHold returns the notes of the recorded reviews of a hold. A note whose review was not made is left out.
func notesOfHold(ctx context.Context, q *pg.Q, s pg.Scope, authorization string) ([]models.ReviewNote, error) {
	var rows []models.ReviewNote
	err := q.Gorm(ctx).Raw(`select n.* from review_notes n join reviews r on r.authorization_id = n.authorization_id
		and r.environment_id = n.environment_id and r.reviewer = n.reviewer and r.note_digest = n.note_digest
		where n.tenant_id = ? and n.environment_id = ? and n.authorization_id = ?`, s.Tenant, s.Environment, authorization).Find(&rows).Error
	return rows, err
}

// viewerLife is how long a row of a viewer is stored.
const viewerLife = time.Hour

// View is a viewer who has a hold open.
type View struct {
	Authorization, Viewer string
	At                    time.Time
}

// recordViewer records that a viewer has opened a hold of the scope, or has it open still, and reports whether others did not know since a time.
// One who has left is not recorded again by a page that was being closed. Rows of any hold of the environment that are older than viewerLife
// are removed.
func recordViewer(ctx context.Context, q *pg.Q, s pg.Scope, v View, still bool, since time.Time) (arrived bool, err error) {
	before, err := viewersOf(ctx, q, s, []string{v.Authorization}, since)
	if err != nil {
		return false, err
	}
	statement := `insert into hold_viewers (authorization_id, environment_id, viewer, opened_at, seen_at)
		select h.authorization_id, h.environment_id, $4, $5, $5 from holds h where h.tenant_id = $1 and h.environment_id = $2 and h.authorization_id = $3
		on conflict on constraint hold_viewers_pkey do update set opened_at = $5, seen_at = $5`
	if still {
		statement = `update hold_viewers w set seen_at = $5 from holds h where h.tenant_id = $1 and h.environment_id = $2 and h.authorization_id = w.authorization_id
			and w.environment_id = $2 and w.authorization_id = $3 and w.viewer = $4`
	}
	n, err := q.Exec(ctx, statement, s.Tenant, s.Environment, v.Authorization, v.Viewer, v.At)
	if err != nil {
		return false, err
	}
	_, err = q.Exec(ctx, "delete from hold_viewers where environment_id = $1 and seen_at < $2", s.Environment, v.At.Add(-viewerLife))
	return n > 0 && !slices.ContainsFunc(before, func(b View) bool { return b.Viewer == v.Viewer }), err
}

// removeViewer removes the record of a viewer of a hold of the scope who has not opened it again after the view, and reports whether there was one.
func removeViewer(ctx context.Context, q *pg.Q, s pg.Scope, v View) (bool, error) {
	n, err := q.Exec(ctx, `delete from hold_viewers w using holds h where h.tenant_id = $1 and h.environment_id = $2 and h.authorization_id = w.authorization_id
		and w.environment_id = $2 and w.authorization_id = $3 and w.viewer = $4 and w.opened_at <= $5`, s.Tenant, s.Environment, v.Authorization, v.Viewer, v.At)
	return n > 0, err
}

// viewersOf returns who had holds of the scope open after since.
func viewersOf(ctx context.Context, q *pg.Q, s pg.Scope, authorizations []string, since time.Time) ([]View, error) {
	var rows []View
	err := q.Gorm(ctx).Raw(`select w.authorization_id as "authorization", w.viewer, w.seen_at as at from hold_viewers w
		join holds h on h.authorization_id = w.authorization_id and h.environment_id = w.environment_id
		where h.tenant_id = ? and h.environment_id = ? and w.authorization_id in ? and w.seen_at > ? order by w.viewer`,
		s.Tenant, s.Environment, authorizations, since).Find(&rows).Error
	return rows, err
}

// queueToRequester adds the work of notifying the person who requests a hold, if they are known.
func queueToRequester(b *pgx.Batch, h models.Hold, kind models.NoticeKind, at time.Time) {
	if h.RequesterPerson != nil {
		events.QueueOutbox(b, NoticeOf(h, kind, at))
	}
}

// NoticeOf is the work of making the notices of a hold.
func NoticeOf(h models.Hold, kind models.NoticeKind, at time.Time) models.Outbox {
	return models.Outbox{Topic: "notice", EnvironmentID: h.EnvironmentID, Ref: h.AuthorizationID,
		Payload: models.JSON(`{"kind":"` + string(kind) + `"}`), CreatedAt: at, AvailableAt: at}
}
