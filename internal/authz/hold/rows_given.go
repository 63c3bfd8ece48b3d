package hold

import (
	"context"
	"strings"
	"time"

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

// deleteGiven deletes the given reviews of a reviewer that no worker has taken, or that have a remark, and returns them.
func deleteGiven(ctx context.Context, q *pg.Q, s pg.Scope, reviewer string, authorizations []string) ([]models.GivenReview, error) {
	var rows []models.GivenReview
	err := pg.Unchecked(q.Gorm(ctx)).Raw(`delete from given_reviews where tenant_id = ? and environment_id = ? and reviewer = ? and authorization_id in ?
		and (taken_at is null or remark is not null) returning *`, s.Tenant, s.Environment, reviewer, authorizations).Find(&rows).Error
	return rows, err
}

// takeGiven returns the given review with the key of g once it is due: from then on it cannot be undone. It is ErrNotFound if there is none, and Altered if
// the row was changed by other means than the service.
func takeGiven(ctx context.Context, q *pg.Q, g models.GivenReview, now time.Time) (models.GivenReview, error) {
	err := q.Gorm(ctx).Raw(`update given_reviews set taken_at = coalesce(taken_at, ?) where environment_id = ? and authorization_id = ? and reviewer = ?
		and due_at <= ? and remark is null returning *`, now, g.EnvironmentID, g.AuthorizationID, g.Reviewer, now).Take(&g).Error
	return pg.OrNotFound(g, err)
}

// removeGiven removes a review that was made, unless the reviewer has given another meanwhile.
func removeGiven(ctx context.Context, q *pg.Q, g models.GivenReview) error {
	_, err := q.Exec(ctx, "delete from given_reviews where environment_id = $1 and authorization_id = $2 and reviewer = $3 and given_at = $4",
		g.EnvironmentID, g.AuthorizationID, g.Reviewer, g.GivenAt)
	return err
}

// setRemark stores what the reviewer has to read of a review, without its note, unless they have given another meanwhile.
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
