package audit

import (
	"context"
	"log/slog"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// sealBatch limits the events sealed in one transaction.
const sealBatch = 1000

// Sealer extends the chains. Any number of sealers may run; each environment's head is locked by one at a time.
type Sealer struct {
	Store *store.Store
	Clock clock.Clock
	Log   *slog.Logger
	// Pause between rounds; default 1 s.
	Every time.Duration
}

// Run seals new events until ctx ends.
func (s *Sealer) Run(ctx context.Context) {
	every := s.Every
	if every <= 0 {
		every = time.Second
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for round := 0; ; round++ {
		if round%stuckEvery == 0 {
			s.warnOfRestore(ctx)
		}
		if _, err := s.SealAll(ctx); err != nil && ctx.Err() == nil {
			s.Log.LogAttrs(ctx, slog.LevelError, "sealing the audit log failed", slog.String("error", err.Error()))
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// stuckEvery is the number of rounds after which a sealer checks whether the log can be sealed at all.
const stuckEvery = 60

// warnOfRestore logs that nothing can be sealed until the log is re-anchored.
func (s *Sealer) warnOfRestore(ctx context.Context) {
	c, err := s.Store.Audit().LogClock(ctx)
	if err != nil {
		return // sealing fails for the same reason and logs it
	}
	if last, err := s.Store.Audit().LastTxID(ctx); err == nil && last >= c.Next {
		s.Log.LogAttrs(ctx, slog.LevelError, "the event log is numbered ahead of this database server: the database was restored from a dump, "+
			"and nothing new is sealed or streamed; stop the service and run countersign audit reanchor")
	}
}

// SealAll seals everything that can be sealed now, in every environment, and returns the number of events sealed.
func (s *Sealer) SealAll(ctx context.Context) (int, error) {
	environments, err := s.Store.Audit().UnsealedEnvironments(ctx)
	if err != nil {
		return 0, err
	}
	total := 0
	for _, env := range environments {
		for {
			n, err := s.Seal(ctx, env)
			if err != nil {
				return total, err
			}
			total += n
			if n < sealBatch {
				break
			}
		}
	}
	return total, nil
}

// Seal links at most one batch of an environment's events to its chain and returns their number. It returns 0 if another sealer
// holds the lock.
func (s *Sealer) Seal(ctx context.Context, environment string) (sealed int, err error) {
	err = s.Store.Write(ctx, func(q *store.Q) error {
		head, mine, err := q.Audit().LockHead(ctx, environment, Genesis(environment))
		if err != nil || !mine {
			return err
		}
		rows, err := q.Events().After(ctx, []string{environment}, head.Position(), sealBatch)
		if err != nil || len(rows) == 0 {
			return err
		}
		links := link(&head, rows, s.Clock.Now())
		sealed = len(links)
		return q.Audit().AppendLinks(ctx, head, links)
	})
	return sealed, err
}

// link chains rows onto the head and moves the head to the last of them.
func link(head *store.AuditHead, rows []models.Event, at time.Time) []store.AuditLink {
	links := make([]store.AuditLink, len(rows))
	for i, e := range rows {
		head.Seq++
		links[i] = store.AuditLink{Seq: head.Seq, EventID: e.ID, Previous: head.Hash, Hash: Hash(head.Hash, head.Seq, e), SealedAt: at}
		head.Hash, head.TxID, head.EventSeq = links[i].Hash, e.TxID, e.Seq
	}
	return links
}
