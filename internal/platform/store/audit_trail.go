package store

import (
	"context"

	"github.com/countersign-dev/countersign/models"
)

// Trail is everything on record about one authorization: the decisions that it follows from or that follow from it, their
// challenges, holds, reviews and proofs, and the policies that they were made under.
type Trail struct {
	Authorizations []models.Authorization // the first decision first
	Policies       []models.PolicyVersion
	Challenges     []models.Challenge
	Holds          []models.Hold
	Reviews        []models.Review
	Proofs         []models.Proof
	Events         []models.Event
	Subject        string // the relying party's id; empty if the subject was erased
}

// Trail reads the record of an authorization, or returns ErrNotFound.
func (q Audit) Trail(ctx context.Context, s Scope, id string) (Trail, error) {
	var t Trail
	if err := q.gorm(ctx).Raw(`with recursive up as (
			select a.* from authorizations a where a.tenant_id = @tenant and a.environment_id = @environment and a.id = @id
			union all select p.* from authorizations p join up on p.id = up.parent_id and p.environment_id = @environment
		), down as (
			select * from up
			union select c.* from authorizations c join down on c.parent_id = down.id and c.environment_id = @environment
		) select * from down order by decided_at, id`,
		map[string]any{"tenant": s.Tenant, "environment": s.Environment, "id": id}).Find(&t.Authorizations).Error; err != nil {
		return t, err
	}
	if len(t.Authorizations) == 0 {
		return t, ErrNotFound
	}
	ids := make([]string, len(t.Authorizations))
	for i, a := range t.Authorizations {
		ids[i] = a.ID
	}
	first := t.Authorizations[0]
	for _, read := range []error{
		q.gorm(ctx).Where("action_id = ?", first.ActionID).Order("version").Find(&t.Policies).Error,
		q.gorm(ctx).Where("environment_id = ? and authorization_id in ?", s.Environment, ids).Order("created_at").Find(&t.Challenges).Error,
		q.gorm(ctx).Where("environment_id = ? and authorization_id in ?", s.Environment, ids).Order("opened_at").Find(&t.Holds).Error,
		q.gorm(ctx).Where("environment_id = ? and authorization_id in ?", s.Environment, ids).Order("at").Find(&t.Reviews).Error,
		q.gorm(ctx).Where("environment_id = ? and authorization_id in ?", s.Environment, ids).Order("issued_at").Find(&t.Proofs).Error,
		q.gorm(ctx).Raw("select external_id from subjects where uid = ? and environment_id = ?", first.SubjectUID, s.Environment).Find(&t.Subject).Error,
	} {
		if read != nil {
			return t, read
		}
	}
	var err error
	t.Events, err = q.Events().OfAuthorization(ctx, s, ids)
	return t, err
}
