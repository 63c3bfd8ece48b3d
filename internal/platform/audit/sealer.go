package audit

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// sealBatch limits the events sealed in one transaction. Behind a full batch the log is read once more.
const sealBatch = 2000

// shortStretch is how many events and links a batch may read whole. In a longer stretch each batch would read what the others before it have
// sealed, and a backlog would take the square of its length.
const shortStretch = 5 * sealBatch

// Sealer extends the chains, and so gives the events of an environment their order. An event whose transaction ends late is sealed
// late: no reader that follows the chain can step over it. Any number of sealers may run; each environment's head is locked by one
// at a time.
type Sealer struct {
	Store *pg.Store
	Clock clock.Clock
	Log   *slog.Logger
	// Pause between rounds; default 1 s.
	Every time.Duration
}

// lateRounds is the number of rounds after which a sealer looks for events of transactions that lasted longer than openFor.
const lateRounds = 30

// Run seals new events until ctx ends.
func (s *Sealer) Run(ctx context.Context) {
	every := s.Every
	if every <= 0 {
		every = time.Second
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for round := 0; ; round++ {
		seal := s.SealAll
		if round%lateRounds == 0 {
			seal = s.SealLate
		}
		if _, err := seal(ctx); err != nil && ctx.Err() == nil {
			s.Log.LogAttrs(ctx, slog.LevelError, "sealing the audit log failed", slog.String("error", err.Error()))
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// SealAll seals everything that can be sealed now, in every environment, and returns the number of events sealed.
func (s *Sealer) SealAll(ctx context.Context) (int, error) { return s.sealEach(ctx, sealing{}) }

// SealLate is like SealAll, and includes events of transactions that lasted long.
func (s *Sealer) SealLate(ctx context.Context) (int, error) {
	return s.sealEach(ctx, sealing{late: true})
}

// SealBehind seals what is new in the environments; if open is set, also where only a transaction that was open may have ended. An
// environment that another sealer has locked is left to it.
func (s *Sealer) SealBehind(ctx context.Context, environments []string, open bool) error {
	behind, err := environmentsBehind(ctx, s.Store.Q, environments, open)
	if err != nil {
		return err
	}
	for _, env := range behind {
		if _, _, err := s.seal(ctx, env, sealing{}); err != nil {
			return err
		}
	}
	return nil
}

// SealNow seals every event of the environment that was committed before the call, waiting for another sealer, and returns the
// number of the last link.
func (s *Sealer) SealNow(ctx context.Context, environment string) (position int64, err error) {
	_, position, err = s.seal(ctx, environment, sealing{wait: true})
	return position, err
}

// sealing says how an environment is sealed.
type sealing struct {
	late bool // include events of transactions that lasted long
	wait bool // for another sealer
	// Of a batch among others: the events behind one number, up to another. Otherwise 0.
	after, upTo int64
}

// stretch returns the part of the log in which events are looked for.
func (how sealing) stretch(head HeadRow, marks []mark) Stretch {
	out := Stretch{After: head.Settled, UpTo: math.MaxInt64}
	switch {
	case how.upTo != 0:
		out.After, out.UpTo = how.after, how.upTo
	case how.late:
		out.After = head.Late
	}
	out.Links = sealedUpTo(marks, out.After)
	out.Short = (out.Links > 0 || out.After == 0) && max(min(head.Seen, out.UpTo)-out.After, head.Seq-out.Links) <= shortStretch
	return out
}

func (s *Sealer) sealEach(ctx context.Context, how sealing) (total int, err error) {
	environments, err := unsealedEnvironments(ctx, s.Store.Q, how.late)
	if err != nil {
		return 0, err
	}
	for _, env := range environments {
		n, _, err := s.seal(ctx, env, how)
		total += n
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// seal seals an environment a batch at a time. It returns the number of events, and that of the last link.
//
// While there are full batches the next begins behind the last, and ends where the log ended at the first: what is committed meanwhile,
// and what follows from it, is left to the batch after these, which reads from the beginning.
func (s *Sealer) seal(ctx context.Context, environment string, how sealing) (total int, position int64, err error) {
	for {
		b, err := s.batch(ctx, environment, how)
		total += b.sealed
		full := b.sealed == sealBatch
		switch {
		case err != nil || !full && how.upTo == 0:
			return total, b.position, err
		case !full:
			how.after, how.upTo = 0, 0
		case how.upTo == 0:
			how.after, how.upTo = b.last, b.seen
		default:
			how.after = b.last
		}
	}
}

// batch is the result of sealing one batch: the number of events, the number of the last link, that of the last event, and the highest
// in the log.
type batch struct {
	sealed               int
	position, last, seen int64
}

// batch links at most one batch of an environment's events to its chain. It returns none if another sealer holds the lock and how
// does not say to wait.
func (s *Sealer) batch(ctx context.Context, environment string, how sealing) (out batch, err error) {
	err = s.Store.Write(ctx, func(q *pg.Q) error {
		if how.late { // much of the log is read after a migration, or after the sealers stood still
			if err := disableTimeout(ctx, q); err != nil {
				return err
			}
		}
		head, err := lockHead(ctx, q, environment, Genesis(environment), how.wait)
		if errors.Is(err, pg.ErrNotFound) {
			out = batch{}
			return nil
		}
		if err != nil {
			return err
		}
		marks, err := marksOf(head)
		if err != nil {
			return err
		}
		rows, err := UnsealedEvents(ctx, q, environment, how.stretch(head, marks), sealBatch)
		if err != nil {
			return err
		}
		out = batch{sealed: len(rows), seen: head.Seen}
		if len(rows) > 0 {
			out.last = rows[len(rows)-1].Seq
		}
		links := link(&head, rows, s.Clock.Now())
		out.position = head.Seq
		if err := appendLinks(ctx, q, head, links); err != nil {
			return err
		}
		// Nothing moves until the log is read to its end: events that have to be sealed are below what was read.
		moved := false
		if out.sealed < sealBatch && how.upTo == 0 {
			if moved, err = advance(&head, marks, how.late); err != nil {
				return err
			}
		}
		if !moved && out.sealed == 0 {
			return nil
		}
		return moveHead(ctx, q, head)
	})
	return out, err
}

// link chains rows onto the head and moves the head to the last of them.
func link(head *HeadRow, rows []models.Event, at time.Time) []Link {
	links := make([]Link, len(rows))
	for i, e := range rows {
		head.Seq++
		links[i] = Link{Seq: head.Seq, EventID: e.ID, Previous: head.Hash, Hash: Hash(head.Hash, head.Seq, e), SealedAt: at}
		head.Hash = links[i].Hash
	}
	return links
}
