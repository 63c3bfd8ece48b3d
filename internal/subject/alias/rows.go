package alias

import (
	"context"

	"gorm.io/gorm/clause"

	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

func listAliases(ctx context.Context, q *pg.Q, s pg.Scope, uid string) ([]models.SubjectAlias, error) {
	var rows []models.SubjectAlias
	err := q.Gorm(ctx).Where(pg.InScope+" and subject_uid = ?", s.Tenant, s.Environment, uid).Order("created_at, format, mac").Find(&rows).Error
	return rows, err
}

// ownersOf returns the rows of a name, which has one for each master key under which it was stored.
func ownersOf(ctx context.Context, q *pg.Q, environment string, macs [][]byte) ([]models.SubjectAlias, error) {
	var rows []models.SubjectAlias
	err := q.Gorm(ctx).Where("environment_id = ? and mac in ?", environment, macs).Find(&rows).Error
	return rows, err
}

// addAlias inserts a name. It returns false if a concurrent transaction gave it to a subject.
func addAlias(ctx context.Context, q *pg.Q, a models.SubjectAlias) (bool, error) {
	res := q.Gorm(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&a)
	return res.RowsAffected == 1, res.Error
}

// removeOthers removes the names of a subject that are not among those to keep, and returns how many.
func removeOthers(ctx context.Context, q *pg.Q, of models.Subject, keep [][]byte) (int64, error) {
	if keep == nil {
		keep = [][]byte{}
	}
	return q.Exec(ctx, "delete from subject_aliases where tenant_id = $1 and environment_id = $2 and subject_uid = $3 and mac <> all($4)",
		of.TenantID, of.EnvironmentID, of.UID, keep)
}

// subjectsNamed returns the uids of the subjects with one of the names, in their order. One that is being erased has no name any more.
func subjectsNamed(ctx context.Context, q *pg.Q, s pg.Scope, macs [][]byte) ([]string, error) {
	var out []string
	err := q.Gorm(ctx).Raw(`select distinct a.subject_uid from subject_aliases a`+subjectrow.Join("a")+" and "+subjectrow.NotErasing+`
		where a.tenant_id = ? and a.environment_id = ? and a.mac in ? order by 1`, s.Tenant, s.Environment, macs).Find(&out).Error
	return out, err
}

// Forget removes the names of a subject that is about to be erased: a different subject may have them at once.
func Forget(ctx context.Context, q *pg.Q, s pg.Scope, uid string) error {
	_, err := q.Exec(ctx, "delete from subject_aliases where tenant_id = $1 and environment_id = $2 and subject_uid = $3", s.Tenant, s.Environment, uid)
	return err
}
