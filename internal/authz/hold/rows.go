package hold

import (
	"context"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// wantedTeams returns what holds require of teams, by hold and team.
func wantedTeams(ctx context.Context, q *pg.Q, s pg.Scope, holds ...string) ([]models.HoldTeam, error) {
	var rows []models.HoldTeam
	err := q.Gorm(ctx).Where("tenant_id = ? and environment_id = ? and authorization_id in ?", s.Tenant, s.Environment, holds).
		Order("authorization_id, team").Find(&rows).Error
	return rows, err
}

// Approver is an actor who approved a hold and is in good standing. Absent is the person for whom the actor was deputy at the time
// of the approval, if that person is in good standing; empty if there is none.
type Approver struct {
	AuthorizationID string
	Reviewer        string // the actor
	Principal       string
	Absent          string // such as person:prs_...
	AbsentPrincipal string // whom the absent person counts as
}

// deputyAt selects the person in whose place the actor of the alias r could approve at the time r.at.
const deputyAt = `(select 'person:' || d.person_id as absent, coalesce(p.principal, 'person:' || p.id) as absent_principal from deputies d join people p on p.id = d.person_id and p.revoked_at is null
	join person_roles pr on pr.person_id = p.id and pr.environment_id = d.environment_id and pr.role = 'reviewer'
	where d.tenant_id = h.tenant_id and d.environment_id = h.environment_id and 'person:' || d.deputy_id = r.reviewer
	and d.starts_at <= r.at and d.ends_at > r.at order by d.starts_at limit 1)`

// approversOf returns who approved the holds and counts at a time, in the order of the approvals.
func approversOf(ctx context.Context, q *pg.Q, s pg.Scope, at time.Time, holds ...string) ([]Approver, error) {
	var rows []Approver
	err := q.Gorm(ctx).Raw(`select r.authorization_id, r.reviewer, coalesce(r.principal, r.reviewer) as principal, coalesce(d.absent, '') as absent,
		coalesce(d.absent_principal, '') as absent_principal
		from reviews r join holds h on h.authorization_id = r.authorization_id and h.environment_id = r.environment_id left join lateral `+deputyAt+` d on true
		where h.tenant_id = ? and h.environment_id = ? and h.authorization_id in ? and r.resolution = 'approve'
		and `+strings.ReplaceAll(inGoodStanding, "@at", "?")+` order by r.at, r.reviewer`, s.Tenant, s.Environment, holds, at).Find(&rows).Error
	return rows, err
}

// standingOfHolds returns an actor as an approver at a time, whether or not the actor has approved anything.
func standingOfHolds(ctx context.Context, q *pg.Q, s pg.Scope, actor string, at time.Time) (Approver, error) {
	principal, err := identity.GetPrincipal(ctx, q, s, actor)
	if err != nil {
		return Approver{}, err
	}
	out := Approver{Reviewer: actor, Principal: principal}
	err = q.QueryRow(ctx, `select coalesce(d.absent, ''), coalesce(d.absent_principal, '') from (select $1::text as tenant_id, $2::text as environment_id) h
		cross join (select $3::text as reviewer, $4::timestamptz as at) r left join lateral `+deputyAt+` d on true`, s.Tenant, s.Environment, actor, at).
		Scan(&out.Absent, &out.AbsentPrincipal)
	return out, err
}

// escalateHold records the escalations of a pending hold that are due, and returns their rows.
func escalateHold(ctx context.Context, q *pg.Q, h models.Hold, at time.Time) ([]models.HoldTeam, error) {
	var rows []models.HoldTeam
	err := q.Gorm(ctx).Raw(`update hold_teams t set escalated_at = ? from holds h
		where h.authorization_id = t.authorization_id and h.environment_id = ? and t.environment_id = ? and t.authorization_id = ? and h.status = 'pending' and h.due_at > ?
		and t.escalate_at <= ? and t.escalated_at is null returning t.*`, at, h.EnvironmentID, h.EnvironmentID, h.AuthorizationID, at, at).Find(&rows).Error
	return rows, err
}

// nextEscalation returns when the next escalation of a hold is due; nil if none is left.
func nextEscalation(ctx context.Context, q *pg.Q, h models.Hold) (*time.Time, error) {
	var at *time.Time
	err := q.QueryRow(ctx, `select min(escalate_at) from hold_teams
		where authorization_id = $1 and environment_id = $2 and escalated_at is null`, h.AuthorizationID, h.EnvironmentID).Scan(&at)
	return at, err
}

// putReviewNote stores the note of a reviewer's review of a hold. A repeated note changes nothing.
func putReviewNote(ctx context.Context, q *pg.Q, n models.ReviewNote) error {
	_, err := q.Exec(ctx, `insert into review_notes (authorization_id, reviewer, tenant_id, environment_id, subject_uid, note_digest, note, written_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict do nothing`,
		n.AuthorizationID, n.Reviewer, n.TenantID, n.EnvironmentID, n.SubjectUID, n.NoteDigest, n.Note, n.WrittenAt)
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

// recordViewer records a view of a hold of the scope, and returns the others who had it open after since. Rows of any hold of the environment that are
// older than viewerLife are removed.
func recordViewer(ctx context.Context, q *pg.Q, s pg.Scope, v View, since time.Time) ([]string, error) {
	authorization, viewer, at := v.Authorization, v.Viewer, v.At
	if _, err := q.Exec(ctx, `insert into hold_viewers (authorization_id, environment_id, viewer, seen_at)
		select h.authorization_id, h.environment_id, $4, $5 from holds h where h.tenant_id = $1 and h.environment_id = $2 and h.authorization_id = $3
		on conflict on constraint hold_viewers_pkey do update set seen_at = $5`, s.Tenant, s.Environment, authorization, viewer, at); err != nil {
		return nil, err
	}
	if _, err := q.Exec(ctx, "delete from hold_viewers where environment_id = $1 and seen_at < $2", s.Environment, at.Add(-viewerLife)); err != nil {
		return nil, err
	}
	var others []string
	err := q.Gorm(ctx).Raw(`select w.viewer from hold_viewers w join holds h on h.authorization_id = w.authorization_id and h.environment_id = w.environment_id
		where h.tenant_id = ? and h.environment_id = ? and w.authorization_id = ? and w.viewer <> ? and w.seen_at > ? order by w.viewer`,
		s.Tenant, s.Environment, authorization, viewer, since).Find(&others).Error
	return others, err
}

// announceNotice adds the outbox row from which the notices of a hold are made. Its handler makes none if no one wants any.
func announceNotice(ctx context.Context, q *pg.Q, h models.Hold, kind models.NoticeKind, at time.Time) error {
	return outbox.Insert(ctx, q, NoticeOf(h, kind, at))
}

// NoticeOf is the work of making the notices of a hold.
func NoticeOf(h models.Hold, kind models.NoticeKind, at time.Time) models.Outbox {
	return models.Outbox{Topic: "notice", EnvironmentID: h.EnvironmentID, Ref: h.AuthorizationID,
		Payload: models.JSON(`{"kind":"` + string(kind) + `"}`), CreatedAt: at, AvailableAt: at}
}
