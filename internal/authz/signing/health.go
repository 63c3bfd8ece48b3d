package signing

import (
	"context"

	"github.com/countersign-dev/countersign/models"
)

// Health counts environments by what this process can sign for them with.
type Health struct {
	Able    int // the active key
	StandIn int // another published key: the active one does not open
	Unable  int // none: every allow that needs a proof fails
}

// Health opens one key of each environment, or more if that one does not open.
func (s *Service) Health(ctx context.Context) (Health, error) {
	var h Health
	environments, err := s.store.Environments().List(ctx, "")
	if err != nil {
		return h, err
	}
	rows, err := s.store.SigningKeys().InUse(ctx)
	if err != nil {
		return h, err
	}
	of := map[string][]models.SigningKey{}
	for _, row := range rows {
		of[row.EnvironmentID] = append(of[row.EnvironmentID], row)
	}
	now := s.clock.Now()
	for _, e := range environments {
		k, ok := choose(of[e.ID], now, s.opensSeal)
		switch {
		case !ok:
			h.Unable++
		case k.Status == models.KeyActive:
			h.Able++
		default:
			h.StandIn++
		}
	}
	return h, nil
}

// opensSeal is Opens without reading the key that was sealed: what authenticates is what was stored.
func (s *Service) opensSeal(row models.SigningKey) bool {
	_, err := s.keys.Open(keyPurpose, row.Sealed, []byte(row.KID))
	return err == nil
}
