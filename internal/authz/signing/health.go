package signing

import (
	"context"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/pg"
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
	environments, err := tenancy.ListEnvironments(ctx, s.store.Q, "")
	if err != nil {
		return h, err
	}
	rows, err := usedSigningKeys(ctx, s.store.Q)
	if err != nil {
		return h, err
	}
	of := map[string][]models.SigningKey{}
	for _, row := range rows {
		of[row.EnvironmentID] = append(of[row.EnvironmentID], row)
	}
	if err := s.recordUses(ctx); err != nil {
		return h, err
	}
	for _, e := range environments {
		switch s.ability(of[e.ID]) {
		case Unable:
			h.Unable++
		case Able:
			h.Able++
		case StandIn:
			h.StandIn++
		}
	}
	return h, nil
}

// Ability is the key with which this process can sign for an environment.
type Ability string

// The abilities, as Health counts them.
const (
	Able    Ability = "active"
	StandIn Ability = "stand_in"
	Unable  Ability = "none"
)

// Ability returns with which key this process can sign for the environment of the scope.
func (s *Service) Ability(ctx context.Context, scope pg.Scope) (Ability, error) {
	rows, err := ListSigningKeys(ctx, s.store.Q, scope)
	return s.ability(rows), err
}

func (s *Service) ability(rows []models.SigningKey) Ability {
	k, ok := choose(rows, s.clock.Now(), s.opens)
	switch {
	case !ok:
		return Unable
	case k.Status == models.KeyActive:
		return Able
	default:
		return StandIn
	}
}

// opens is Opens without parsing the key: decryption authenticates what was stored, and is much cheaper.
func (s *Service) opens(row models.SigningKey) bool {
	_, err := s.reference(row)
	return err == nil && s.backend(row) != nil
}
