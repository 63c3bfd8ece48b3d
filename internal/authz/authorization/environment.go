package authorization

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// environmentFor is how stale cached settings may be if the notification of a change was lost.
const environmentFor = 10 * time.Second

// environment returns the settings of an environment, from the cache if they are fresh.
func (s *Service) environment(ctx context.Context, q *pg.Q, scope pg.Scope) (models.Environment, error) {
	now := s.clock.Now()
	if env, until := s.envs.Get(scope.Environment); now.Before(until) {
		return env, nil
	}
	return s.envs.Refresh(scope.Environment, now.Add(environmentFor), func() (models.Environment, error) {
		return tenancy.GetEnvironment(ctx, q, scope)
	})
}

// ForgetEnvironment drops the cached settings of an environment, or of all environments if the id is empty.
func (s *Service) ForgetEnvironment(id string) { s.envs.Forget(id) }
