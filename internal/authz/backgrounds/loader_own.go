package backgrounds

import (
	"context"
	"sync"

	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/models"
)

// prepared has the backgrounds of environments that are loaded, by version: to prepare one inverts a matrix, and every change of any
// environment loads all of them.
type prepared struct {
	mu        sync.Mutex
	byVersion map[string]*scoring.Background
}

// own returns the backgrounds that environments learned, by environment. One of an earlier schema is left out: its environment falls back to
// the deployment's until it has learned again.
func (s *Loader) own(ctx context.Context) (map[string]assurance.Own, error) {
	rows, err := InUse(ctx, s.store.Q)
	if err != nil {
		return nil, err
	}
	s.prepared.mu.Lock()
	defer s.prepared.mu.Unlock()
	out, next := map[string]assurance.Own{}, make(map[string]*scoring.Background, len(rows))
	for _, row := range rows {
		bg := s.prepared.byVersion[row.Version]
		if bg == nil {
			if bg, err = scoring.ParseBackground(row.Body); err != nil {
				s.log.Warn("a background that an environment learned cannot be used; the deployment's replaces it", "version", row.Version, "error", err)
				continue
			}
		}
		next[row.Version] = bg
		o := out[row.EnvironmentID]
		o.Known = append(o.Known, bg)
		if row.Status == models.BackgroundActive {
			o.InForce = append(o.InForce, bg)
		}
		out[row.EnvironmentID] = o
	}
	s.prepared.byVersion = next
	return out, nil
}
