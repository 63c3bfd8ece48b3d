package signing

import (
	"context"
	"time"
)

// useEvery is how exactly the last use of a key is recorded: a decision writes nothing for it.
const useEvery = time.Minute

// use is the last use of a key by this process.
type use struct {
	environment  string
	at, recorded time.Time
}

// noteUse notes that a key was used.
func (s *Service) noteUse(environment, kid string) {
	now := s.clock.Now()
	noted, ok := s.uses.Load(kid)
	if last, _ := noted.(use); !ok || now.Sub(last.at) >= time.Second {
		s.uses.Store(kid, use{environment, now, last.recorded})
	}
}

// recordUses writes the last uses of keys that were not written for a minute.
func (s *Service) recordUses(ctx context.Context) error {
	var err error
	s.uses.Range(func(kid, noted any) bool {
		u, _ := noted.(use)
		if u.at.Sub(u.recorded) < useEvery {
			return true
		}
		id, _ := kid.(string)
		if err = usedSigningKey(ctx, s.store.Q, u.environment, id, u.at); err == nil {
			s.uses.Store(kid, use{u.environment, u.at, u.at})
		}
		return err == nil
	})
	return err
}
