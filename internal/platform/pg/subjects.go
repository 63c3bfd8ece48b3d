package pg

import (
	"context"

	"gorm.io/gorm/clause"

	"github.com/countersign-dev/countersign/models"
)

// Subjects stores subjects.
type Subjects struct{ *Q }

// Subjects returns the queries of the aggregate.
func (q *Q) Subjects() Subjects { return Subjects{q} }

// InScopeNotErasing is the condition that every lookup of a subject has: no lookup returns one that is being erased.
const InScopeNotErasing = "tenant_id = ? and environment_id = ? and status <> 'erasing'"

// Create inserts a subject. It returns false if the scope has one with its external id.
func (q Subjects) Create(ctx context.Context, s models.Subject) (bool, error) {
	res := q.Gorm(ctx).Clauses(clause.OnConflict{
		Columns: []clause.Column{{Name: "environment_id"}, {Name: "external_id"}}, DoNothing: true,
	}).Create(&s)
	return res.RowsAffected == 1, res.Error
}

// Get returns the subject with the relying party's id.
func (q Subjects) Get(ctx context.Context, s Scope, externalID string) (models.Subject, error) {
	var row models.Subject
	return OrNotFound(row, q.Gorm(ctx).Where(InScopeNotErasing+" and external_id = ?", s.Tenant, s.Environment, externalID).Take(&row).Error)
}

// ExternalID returns the relying party's id of a subject, or "" if the subject is erased.
func (q Subjects) ExternalID(ctx context.Context, environment, uid string) (string, error) {
	var ids []string
	err := q.Gorm(ctx).Raw("select external_id from subjects where environment_id = ? and uid = ?", environment, uid).Find(&ids).Error
	if err != nil || len(ids) == 0 {
		return "", err
	}
	return ids[0], nil
}
