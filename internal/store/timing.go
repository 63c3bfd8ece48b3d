package store

import (
	"context"
	"time"
)

// TimingTemplate is what /enrol learned of a subject, sealed; nil where nothing was.
func (q *Q) TimingTemplate(ctx context.Context, s Scope, uid string) ([]byte, error) {
	var sealed []byte
	err := q.queryRow(ctx, "select timing_template from subjects where tenant_id = $1 and environment_id = $2 and uid = $3",
		s.Tenant, s.Environment, uid).Scan(&sealed)
	return one(sealed, err)
}

// SetTimingTemplate stores what /enrol learned of a subject, sealed.
func (q *Q) SetTimingTemplate(ctx context.Context, s Scope, uid string, sealed []byte, at time.Time) error {
	_, err := q.exec(ctx, `update subjects set timing_template = $4, updated_at = $5
		where tenant_id = $1 and environment_id = $2 and uid = $3`, s.Tenant, s.Environment, uid, sealed, at)
	return err
}
