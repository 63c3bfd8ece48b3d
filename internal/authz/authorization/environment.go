package authorization

import (
	"context"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// environmentFor is how stale cached settings may be if the notification of a change was lost.
const environmentFor = 10 * time.Second

// environments caches the settings of environments, which change rarely.
type environments struct {
	mu      sync.RWMutex
	rows    map[string]cachedEnvironment
	changes int // number of invalidations; a row read before the latest one is not cached
}

// cachedEnvironment is a row with the time until which it may be used.
type cachedEnvironment struct {
	models.Environment
	until time.Time
}

func newEnvironments() environments { return environments{rows: map[string]cachedEnvironment{}} }

// environment returns the settings of an environment, from the cache if they are fresh.
func (s *Service) environment(ctx context.Context, q *store.Q, scope store.Scope) (models.Environment, error) {
	now := s.clock.Now()
	s.envs.mu.RLock()
	hit, ok := s.envs.rows[scope.Environment]
	changes := s.envs.changes
	s.envs.mu.RUnlock()
	if ok && now.Before(hit.until) {
		return hit.Environment, nil
	}
	env, err := q.Environments().Get(ctx, scope)
	if err != nil {
		return env, err
	}
	s.envs.mu.Lock()
	if s.envs.changes == changes {
		s.envs.rows[scope.Environment] = cachedEnvironment{env, now.Add(environmentFor)}
	}
	s.envs.mu.Unlock()
	return env, nil
}

// ForgetEnvironment drops the cached settings of an environment, or of all environments if the id is empty.
func (s *Service) ForgetEnvironment(id string) {
	s.envs.mu.Lock()
	defer s.envs.mu.Unlock()
	s.envs.changes++
	if id == "" {
		clear(s.envs.rows)
		return
	}
	delete(s.envs.rows, id)
}
