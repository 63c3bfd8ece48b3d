package hold

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"gorm.io/gorm/clause"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// insertGiven stores reviews of one reviewer, in place of those that wait, and removes the reviewer's remarks from before a time.
func insertGiven(ctx context.Context, q *pg.Q, rows []models.GivenReview, before time.Time) error {
	if _, err := q.Exec(ctx, "delete from given_reviews where environment_id = $1 and reviewer = $2 and remark is not null and given_at < $3",
		rows[0].EnvironmentID, rows[0].Reviewer, before); err != nil {
		return err
	}
	return q.Gorm(ctx).Clauses(clause.OnConflict{UpdateAll: true}).Create(&rows).Error
}

// givenBefore returns the given reviews of a reviewer, newest first. It does not check them: nothing may be decided by them.
func givenBefore(ctx context.Context, q *pg.Q, s pg.Scope, reviewer string) ([]models.GivenReview, error) {
	var rows []models.GivenReview
	err := pg.Unchecked(q.Gorm(ctx)).Where(pg.InScope+" and reviewer = ?", s.Tenant, s.Environment, reviewer).
		Order("given_at desc, authorization_id").Find(&rows).Error
	return rows, err
}

// waitingOf returns the reviews of a hold by others than a reviewer that wait. It does not check them: nothing may be decided by them.
func waitingOf(ctx context.Context, q *pg.Q, s pg.Scope, reviewer, authorization string) ([]models.GivenReview, error) {
	var rows []models.GivenReview
	err := pg.Unchecked(q.Gorm(ctx)).Where(pg.InScope+" and authorization_id = ? and reviewer <> ? and remark is null", s.Tenant, s.Environment, authorization, reviewer).
		Order("due_at").Find(&rows).Error
	return rows, err
}

// stopped is the remark of an approval that a colleague's rejection stopped.
const stopped = "A colleague rejected the request while yours could still be undone."

// stopApprovals stops the approvals of holds that wait beside the rejection of a colleague, unless a worker makes them already. Whichever was
// given first, a rejection is not to lose against an approval of the same seconds: both see that, and the approval can be given again.
func stopApprovals(ctx context.Context, q *pg.Q, environment string, authorizations ...string) error {
	_, err := q.Exec(ctx, `update given_reviews a set remark = $3, note = null where environment_id = $1 and authorization_id = any($2) and resolution = $4
		and taken_at is null and remark is null and exists (select from given_reviews r where r.environment_id = $1 and r.authorization_id = a.authorization_id
			and r.reviewer <> a.reviewer and r.resolution = $5 and r.remark is null)`, environment, authorizations, stopped, Approve, Reject)
	return err
}

// deleteGiven deletes the given reviews of a reviewer that no worker has taken, or that have a remark, and returns them. One that a worker took
// before late is withdrawn: it is deleted with its request, which every move of it reads until it commits (queueRequested), unless it was made.
func deleteGiven(ctx context.Context, q *pg.Q, s pg.Scope, reviewer string, authorizations []string, late time.Time) ([]models.GivenReview, error) {
	err := q.Gorm(ctx).Exec(`delete from move_requests m using given_reviews g where g.tenant_id = ? and g.environment_id = ? and g.reviewer = ? and g.authorization_id in ?
		and g.taken_at < ? and g.remark is null and m.environment_id = ? and m.target = g.authorization_id and m.actor = g.reviewer
		and m.move = g.resolution and m.requested_at >= g.taken_at`, s.Tenant, s.Environment, reviewer, authorizations, late, s.Environment).Error
	if err != nil {
		return nil, err
	}
	var rows []models.GivenReview
	err = pg.Unchecked(q.Gorm(ctx)).Raw(`delete from given_reviews g where g.tenant_id = ? and g.environment_id = ? and g.reviewer = ? and g.authorization_id in ?
		and (g.taken_at is null or g.remark is not null or g.taken_at < ?
			and exists (select from holds h where h.environment_id = ? and h.authorization_id = g.authorization_id and h.status = 'pending')
			and not exists (select from reviews r where r.environment_id = ? and r.authorization_id = g.authorization_id
				and r.reviewer = g.reviewer and r.at >= g.taken_at)) returning *`, s.Tenant, s.Environment, reviewer, authorizations, late,
		s.Environment, s.Environment).Find(&rows).Error
	return rows, err
}

// queueStillGiven adds a guard: the given review is not undone, withdrawn or replaced, and is not until the transaction ends.
func queueStillGiven(b *pgx.Batch, g models.GivenReview) {
	b.Queue(`select guard(count(*) > 0) from (select from given_reviews where environment_id = $1 and authorization_id = $2 and reviewer = $3 and given_at = $4
		for key share) given`, g.EnvironmentID, g.AuthorizationID, g.Reviewer, g.GivenAt)
}

// queueRequested adds a guard: the review is still requested, and is not withdrawn until the transaction ends.
func queueRequested(b *pgx.Batch, m models.MoveRequest) {
	b.Queue(`select guard(count(*) > 0) from (select from move_requests where environment_id = $1 and target = $2 and digest = $3 for key share) requested`,
		m.EnvironmentID, m.Target, m.Digest)
}

// takeGiven returns the given review with the key of g once it is due, or if a clock that was ahead set its times: from then on it cannot be undone. It is ErrNotFound if there is none, and Altered if
// the row was changed by other means than the service.
func takeGiven(ctx context.Context, q *pg.Q, g models.GivenReview, now time.Time) (models.GivenReview, error) {
	err := q.Gorm(ctx).Raw(`update given_reviews set taken_at = coalesce(taken_at, ?) where environment_id = ? and authorization_id = ? and reviewer = ?
		and (due_at <= ? or given_at > ?) and remark is null returning *`, now, g.EnvironmentID, g.AuthorizationID, g.Reviewer, now, now).Take(&g).Error
	return pg.OrNotFound(g, err)
}

// removeGiven removes a review that was made, unless the reviewer has given another meanwhile.
func removeGiven(ctx context.Context, q *pg.Q, g models.GivenReview) error {
	_, err := q.Exec(ctx, "delete from given_reviews where environment_id = $1 and authorization_id = $2 and reviewer = $3 and given_at = $4",
		g.EnvironmentID, g.AuthorizationID, g.Reviewer, g.GivenAt)
	return err
}

// setRemark stores what the reviewer is to read about a review, without its note, unless they have given another review meanwhile.
func setRemark(ctx context.Context, q *pg.Q, g models.GivenReview, remark string) error {
	_, err := q.Exec(ctx, "update given_reviews set remark = $5, note = null where environment_id = $1 and authorization_id = $2 and reviewer = $3 and given_at = $4",
		g.EnvironmentID, g.AuthorizationID, g.Reviewer, g.GivenAt, remark)
	return err
}

// personOf returns the id of the person of an actor.
func personOf(actor string) string { return strings.TrimPrefix(actor, "person:") }

// isReviewer reports whether a person has the role reviewer in the environment now.
func isReviewer(ctx context.Context, q *pg.Q, s pg.Scope, actor string) (bool, error) {
	if err := identity.CheckActors(ctx, q, s, []string{actor}); err != nil {
		return false, err
	}
	var roles []models.PersonRole
	err := q.Gorm(ctx).Where(`person_id = ? and environment_id = ? and role = ?
		and exists (select from people p where p.id = person_id and p.tenant_id = ? and p.revoked_at is null)`,
		personOf(actor), s.Environment, models.RoleReviewer, s.Tenant).Find(&roles).Error
	return len(roles) > 0, err
}
