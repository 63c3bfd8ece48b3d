package tenancy

import (
	"context"

	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// SetRateLimitCeiling sets the most requests an hour that a key of the environment may be given by its own admins; nil is the default
// of its kind. It is the operator's to set. Processes that have the environment's keys cached go by it within seconds.
func (s *Service) SetRateLimitCeiling(ctx context.Context, scope store.Scope, ceiling *int, actor string) (models.Environment, error) {
	var env models.Environment
	err := s.store.Write(ctx, func(q *store.Q) error {
		if err := q.Tenants().SetRateLimitCeiling(ctx, scope, ceiling); err != nil {
			return err
		}
		var err error
		if env, err = q.Environments().Get(ctx, scope); err != nil {
			return err
		}
		return events.Append(ctx, q, events.Entry{
			Scope: scope, At: s.clock.Now(), Actor: actor, Data: events.EnvironmentCeilingChangedData{RateLimitCeiling: ceiling},
		})
	})
	return env, err
}
