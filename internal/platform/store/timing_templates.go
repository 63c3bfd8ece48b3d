package store

import (
	"context"
	"time"
)

// TimingTemplates stores the timing templates of the legacy contract, sealed, one for each subject.
type TimingTemplates struct{ *Q }

// TimingTemplates returns the queries of the aggregate.
func (q *Q) TimingTemplates() TimingTemplates { return TimingTemplates{q} }

// Get returns the template that /enrol learned of a subject, or nil if there is none.
func (q TimingTemplates) Get(ctx context.Context, s Scope, uid string) ([]byte, error) {
	var sealed []byte
	err := q.queryRow(ctx, "select timing_template from subjects where tenant_id = $1 and environment_id = $2 and uid = $3",
		s.Tenant, s.Environment, uid).Scan(&sealed)
	return orNotFound(sealed, err)
}

// Drop deletes the template of a subject. It returns false if there was none.
func (q TimingTemplates) Drop(ctx context.Context, s Scope, uid string, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update subjects set timing_template = null, updated_at = $4
		where tenant_id = $1 and environment_id = $2 and uid = $3 and timing_template is not null`, s.Tenant, s.Environment, uid, at)
	return n == 1, err
}

// Set stores the template that /enrol learned of a subject.
func (q TimingTemplates) Set(ctx context.Context, s Scope, uid string, sealed []byte, at time.Time) error {
	_, err := q.exec(ctx, `update subjects set timing_template = $4, updated_at = $5
		where tenant_id = $1 and environment_id = $2 and uid = $3`, s.Tenant, s.Environment, uid, sealed, at)
	return err
}
