package signing

import (
	"context"

	"github.com/countersign-dev/countersign/models"
)

// Health counts environments by the key with which this process can sign for them.
type Health struct {
	Able    int // the active key
	StandIn int // a different published key: the active one cannot be decrypted
	Unable  int // none: every decision that needs a proof fails
}

// Health decrypts one key of each environment, and more if that one cannot be decrypted.
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

// opensSeal is Opens without parsing the key: decryption authenticates what was stored, and is much cheaper.
func (s *Service) opensSeal(row models.SigningKey) bool {
	_, err := s.keys.Open(keyPurpose, row.Sealed, []byte(row.KID))
	return err == nil
}
