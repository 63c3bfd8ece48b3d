package afterreview

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"gorm.io/gorm/clause"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/settle"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// openIndex is the unique index by which one person has one open after-review in an environment.
const openIndex = "after_reviews_open"

func queueInsert(b *pgx.Batch, r models.AfterReview) {
	b.Queue(`insert into after_reviews (authorization_id, tenant_id, environment_id, action_id, broken_by, principal, requested_by, requester_person, team,
		reason_digest, approvals, opened_at, due_at, status, row_mac) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
		r.AuthorizationID, r.TenantID, r.EnvironmentID, r.ActionID, r.BrokenBy, r.Principal, r.RequestedBy, r.RequesterPerson, r.Team,
		r.ReasonDigest, r.Approvals, r.OpenedAt, r.DueAt, string(r.Status), r.RowMAC)
}

func insertVerdict(ctx context.Context, q *pg.Q, v *models.AfterVerdict) error {
	return q.Gorm(ctx).Create(v).Error
}

// openIn returns the after-reviews of an environment that are open. It reads all of them, so that one that was closed outside of the service is found: a
// break-glass is rare, and nothing else reads so many.
func openIn(ctx context.Context, q *pg.Q, s pg.Scope) ([]models.AfterReview, error) {
	var rows []models.AfterReview
	err := q.Gorm(ctx).Where(pg.InScope, s.Tenant, s.Environment).Order("opened_at, authorization_id").Find(&rows).Error
	return slices.DeleteFunc(rows, func(r models.AfterReview) bool { return r.Status != models.AfterReviewOpen }), err
}

// anyOpen reports whether an after-review of an environment is open, for pages.
func anyOpen(ctx context.Context, q *pg.Q, s pg.Scope) (bool, error) {
	var open bool
	err := q.QueryRow(ctx, "select exists (select from after_reviews where tenant_id = $1 and environment_id = $2 and status = 'open')", s.Tenant, s.Environment).Scan(&open)
	return open, err
}

// lock returns an after-review and locks it until the transaction ends.
func lock(ctx context.Context, q *pg.Q, s pg.Scope, id string) (models.AfterReview, error) {
	var row models.AfterReview
	err := q.Gorm(ctx).Clauses(clause.Locking{Strength: "UPDATE"}).Where(pg.InScope+" and authorization_id = ?", s.Tenant, s.Environment, id).Take(&row).Error
	return pg.OrNotFound(row, err)
}

// list returns a page of after-reviews, newest first; an empty status is all.
func list(ctx context.Context, q *pg.Q, s pg.Scope, status models.AfterReviewStatus, p pg.Page) ([]models.AfterReview, string, error) {
	tx := q.Gorm(ctx).Where(pg.InScope+" and ? in ('', status)", s.Tenant, s.Environment, string(status))
	tx, err := pg.Paginate(tx, p, "opened_at", "authorization_id")
	if err != nil {
		return nil, "", err
	}
	var rows []models.AfterReview
	if err := tx.Find(&rows).Error; err != nil {
		return nil, "", err
	}
	rows, next := pg.CutPage(rows, p, func(r models.AfterReview) (time.Time, string) { return r.OpenedAt, r.AuthorizationID })
	return rows, next, nil
}

// verdictsOf returns the verdicts of after-reviews, the earliest first.
func verdictsOf(ctx context.Context, q *pg.Q, s pg.Scope, ids []string) ([]models.AfterVerdict, error) {
	var rows []models.AfterVerdict
	err := q.Gorm(ctx).Where(pg.InScope+" and authorization_id in ?", s.Tenant, s.Environment, ids).Order("at, reviewer").Find(&rows).Error
	return rows, err
}

// notesOf returns the sealed notes on the holds: the reasons, and those of the verdicts.
func notesOf(ctx context.Context, q *pg.Q, s pg.Scope, ids []string) ([]models.ReviewNote, error) {
	var rows []models.ReviewNote
	err := q.Gorm(ctx).Where(pg.InScope+" and authorization_id in ?", s.Tenant, s.Environment, ids).Find(&rows).Error
	return rows, err
}

// insertNote stores the note of a verdict, unless the hold was erased with its subject.
func insertNote(ctx context.Context, q *pg.Q, n models.ReviewNote) error {
	_, err := q.Exec(ctx, `insert into review_notes (authorization_id, reviewer, tenant_id, environment_id, subject_uid, note_digest, note, written_at)
		select h.authorization_id, $4, h.tenant_id, h.environment_id, h.subject_uid, $5, $6, $7 from holds h
		where h.tenant_id = $1 and h.environment_id = $2 and h.authorization_id = $3 on conflict do nothing`,
		n.TenantID, n.EnvironmentID, n.AuthorizationID, n.Reviewer, n.NoteDigest, n.Note, n.WrittenAt)
	return err
}

// actionKeys returns the keys of actions by their ids, archived ones included.
func actionKeys(ctx context.Context, q *pg.Q, s pg.Scope, ids []string) (map[string]string, error) {
	var rows []struct{ ID, Key string }
	err := q.Gorm(ctx).Raw("select id, key from actions where tenant_id = ? and environment_id = ? and id in ?", s.Tenant, s.Environment, ids).Find(&rows).Error
	out := map[string]string{}
	for _, r := range rows {
		out[r.ID] = r.Key
	}
	return out, err
}

var confirmedSince = "select " + strings.NewReplacer("@principal", "$2::text", "@tenant", "$1", "@since", "$3").Replace(identity.ConfirmedPerson)

// confirmed reports whether a principal was a confirmed person, or none, at a time.
func confirmed(ctx context.Context, q *pg.Q, tenant, principal string, at time.Time) (bool, error) {
	var is bool
	err := q.QueryRow(ctx, confirmedSince, tenant, principal, at).Scan(&is)
	return is, err
}

// OverdueAfterReviews returns at most limit open after-reviews of any environment that were due before t, and of which that is not recorded.
func OverdueAfterReviews(ctx context.Context, q *pg.Q, t time.Time, limit int) ([]settle.Overdue, error) {
	var rows []settle.Overdue
	err := q.Gorm(ctx).Raw(`select environment_id as environment, authorization_id as id from after_reviews
		where status = 'open' and due_at < ? and overdue_at is null order by due_at limit ?`, t, limit).Find(&rows).Error
	return rows, err
}
