package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// prefix begins the ids of the demonstration's subjects.
const prefix = "demo-"

// eraseTimeout bounds the wait for the erasures of earlier demonstrations.
const eraseTimeout = time.Minute

// erase removes the subjects of earlier demonstrations with all their data, workflow histories included. The recordings are
// the same every time, so the service would take them for replays of the frames that it still stores.
func (s *show) erase(ctx context.Context) error {
	pending := map[string]bool{}
	for {
		before := len(pending)
		page, err := s.api.ListSubjects(ctx, countersign.ListSubjectsParams{Limit: 200})
		if err != nil {
			return err
		}
		for _, subject := range page.Items {
			if !strings.HasPrefix(subject.ID, prefix) {
				continue
			}
			receipt, err := s.api.DeleteSubject(ctx, subject.ID)
			if err != nil {
				return err
			}
			pending[receipt.Erasure] = true
		}
		if len(pending) == before {
			return s.await(ctx, pending)
		}
	}
}

// await returns once the event log has an entry for every erasure, or with an error after eraseTimeout.
func (s *show) await(ctx context.Context, pending map[string]bool) error {
	ctx, cancel := context.WithTimeout(ctx, eraseTimeout)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for len(pending) > 0 {
		page, err := s.api.ListActivity(ctx, countersign.ListActivityParams{Type: "subject.erased", Limit: 200})
		if err != nil {
			return err
		}
		for _, entry := range page.Items {
			if erasure, ok := entry.Data["erasure"].(string); ok {
				delete(pending, erasure)
			}
		}
		if len(pending) == 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%d erasures have not finished: %w", len(pending), ctx.Err())
		}
	}
	return nil
}
