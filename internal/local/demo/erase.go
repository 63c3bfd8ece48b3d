package demo

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// prefix begins the ids of the demonstration's subjects.
const prefix = "demo-"

// erasedWithin bounds waiting for what an erasure removes.
const erasedWithin = time.Minute

// erase removes the subjects of earlier demonstrations with all that is held of them, histories of runs included. The
// recordings are the same every time, and the service would rightly take frames that it still holds for replayed ones.
func (s *show) erase(ctx context.Context) error {
	var list []struct {
		ID string `json:"id"`
	}
	waiting := map[string]bool{}
	for {
		if err := s.api.call(ctx, "GET", "/api/v1/subjects?limit=200", nil, &list); err != nil {
			return err
		}
		before := len(waiting)
		for _, subject := range list {
			if !strings.HasPrefix(subject.ID, prefix) {
				continue
			}
			var receipt struct {
				Erasure string `json:"erasure"`
			}
			if err := s.api.call(ctx, "DELETE", "/api/v1/subjects/"+subject.ID, nil, &receipt); err != nil {
				return err
			}
			waiting[receipt.Erasure] = true
		}
		if len(waiting) == before {
			return s.await(ctx, waiting)
		}
	}
}

// await returns once the log says that every erasure is done.
func (s *show) await(ctx context.Context, waiting map[string]bool) error {
	ctx, cancel := context.WithTimeout(ctx, erasedWithin)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for len(waiting) > 0 {
		var entries []struct {
			Data struct {
				Erasure string `json:"erasure"`
			} `json:"data"`
		}
		if err := s.api.call(ctx, "GET", "/api/v1/activity?type=subject.erased&limit=200", nil, &entries); err != nil {
			return err
		}
		for _, e := range entries {
			delete(waiting, e.Data.Erasure)
		}
		if len(waiting) == 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%d erasures have not finished: %w", len(waiting), ctx.Err())
		}
	}
	return nil
}
