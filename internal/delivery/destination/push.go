package destination

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/countersign-dev/countersign/internal/delivery/siem"
	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

const (
	// lookEvery is how often a worker looks for destinations that are behind, and senders how many it sends to at once.
	lookEvery = time.Second
	senders   = 16
	// maxBatch and maxBytes bound a batch. An entry that is longer is sent alone.
	maxBatch = 500
	maxBytes = 1 << 20
	// attemptFor bounds an attempt, turnFor how long a destination is sent to before others may have their turn. A reservation outlasts both.
	attemptFor  = 15 * time.Second
	turnFor     = 10 * time.Second
	reservedFor = 60 * time.Second

	firstWait = time.Second
	mostWait  = 5 * time.Minute
	// mostAsked is the longest wait that a receiver can ask for. A wait is never longer than longestWait.
	mostAsked   = time.Hour
	longestWait = mostAsked + time.Minute
)

// Run sends to the destinations of all environments until ctx ends. Any number of workers may: each destination is sent to by one at a time.
func (s *Service) Run(ctx context.Context, version string) {
	ticker := time.NewTicker(s.look)
	defer ticker.Stop()
	slots := make(chan struct{}, senders)
	var under sync.WaitGroup
	defer under.Wait()
	process := uuid.NewString()
	for {
		due, err := claimDue(ctx, s.store.Q, s.clock.Now(), process, cap(slots)-len(slots))
		if err != nil && ctx.Err() == nil {
			s.log.Warn("looking for destinations of the log failed", "error", err)
		}
		for _, c := range due {
			slots <- struct{}{}
			under.Go(func() {
				defer func() { <-slots }()
				s.send(ctx, c, turn{process: process, version: version})
			})
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// turn has the values that the batches of one turn share.
type turn struct{ process, version string }

// send sends what a destination lacks, and ends the reservation.
func (s *Service) send(ctx context.Context, c claimed, t turn) {
	err := s.batches(ctx, c, t)
	if err != nil && ctx.Err() == nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "sending the log to a destination failed", slog.String("destination", c.ID), slog.String("error", err.Error()))
	}
	if err := release(context.WithoutCancel(ctx), s.store.Q, c, t.process); err != nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "the reservation of a destination could not be ended", slog.String("destination", c.ID), slog.String("error", err.Error()))
	}
}

// batches sends one batch after the other until nothing is left, one fails or the turn ends.
func (s *Service) batches(ctx context.Context, c claimed, t turn) error {
	row, err := reserved(ctx, s.store.Q, c, t.process)
	if errors.Is(err, pg.ErrNotFound) {
		return nil // removed
	}
	if err != nil {
		return err
	}
	out, err := s.open(row, t.version)
	if err != nil {
		return s.failed(ctx, row, &fault{text: "The credentials cannot be opened: set them again."})
	}
	defer out.close()
	limit := maxBatch
	for end := s.clock.Now().Add(turnFor); ctx.Err() == nil && s.clock.Now().Before(end); {
		links, err := audit.ChainLinks(ctx, s.store.Q, pg.Scope{Tenant: row.TenantID, Environment: row.EnvironmentID}, row.Position+1, limit)
		if err != nil || len(links) == 0 {
			return err
		}
		batch, err := out.encode(links, row.Since)
		if err != nil {
			return errors.Join(err, s.failed(ctx, row, &fault{text: fmt.Sprintf("An entry behind number %d cannot be encoded.", row.Position)}))
		}
		if batch.entries > 0 {
			attempt, cancel := context.WithTimeout(ctx, attemptFor)
			refused := out.send(attempt, batch)
			cancel()
			if refused != nil && refused.tooLarge && batch.entries > 1 {
				limit = batch.entries / 2
				continue
			}
			if refused != nil && ctx.Err() == nil {
				return s.failed(ctx, row, refused)
			}
			if refused != nil {
				return nil // the process stops
			}
		}
		row.Position = batch.last
		if kept, err := confirm(context.WithoutCancel(ctx), s.store.Q, row, batch.last, s.clock.Now()); err != nil || !kept {
			return err
		}
	}
	return nil
}

// failed stores a failure. The next attempt waits twice as long as the previous one, or as long as the receiver asks.
func (s *Service) failed(ctx context.Context, row models.ExportDestination, f *fault) error {
	if row.Failures == 0 {
		s.log.LogAttrs(ctx, slog.LevelWarn, "a destination of the log refuses entries", slog.String("destination", row.ID), slog.String("error", f.text))
	}
	now := s.clock.Now()
	wait := time.Duration(float64(min(s.wait<<min(row.Failures, 20), mostWait)) * (0.9 + 0.2*rand.Float64())) //nolint:gosec // spreads attempts
	return putOff(ctx, s.store.Q, row, now, now.Add(max(wait, min(f.retryAfter, mostAsked))), f.text)
}

// fault is why a receiver did not confirm a batch.
type fault struct {
	text       string // for the operator: it says nothing about the network and nothing that the receiver sent beside numbers
	retryAfter time.Duration
	tooLarge   bool
}

// batch has the entries that one attempt sends.
type batch struct {
	entries int   // 0 if there is nothing to send
	last    int64 // the number of the last entry
	body    []byte
}

// output sends the batches of one destination.
type output interface {
	// send returns nil if the receiver has confirmed the batch.
	send(ctx context.Context, b batch) *fault
	close()
}

// opened is a destination during a turn.
type opened struct {
	output
	form encoder
}

// encode returns the batch with as many of the entries as fit. Those that are gone from the database are passed over: audit verify finds them.
func (o opened) encode(links []audit.Link, since *time.Time) (batch, error) {
	var b batch
	var chosen []audit.Link
	size := 0
	for _, l := range links {
		if l.Event != nil && (since == nil || !l.Event.At.Before(*since)) {
			n := len(l.Event.Data) + entryOverhead
			if len(chosen) > 0 && size+n > maxBytes {
				break
			}
			size += n
			chosen = append(chosen, l)
		}
		b.last = l.Seq
	}
	var err error
	if b.entries = len(chosen); b.entries > 0 {
		b.body, err = o.form(chosen)
	}
	return b, err
}

// open prepares what a turn needs.
func (s *Service) open(row models.ExportDestination, version string) (opened, error) {
	source := siem.Source{Tenant: row.TenantID, Environment: row.EnvironmentID, Version: version}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if row.CA != "" {
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AppendCertsFromPEM([]byte(row.CA))
	}
	own, err := s.credentials(row)
	if err != nil {
		return opened{}, err
	}
	if own.Certificate != "" {
		pair, err := tls.X509KeyPair([]byte(own.Certificate), []byte(own.Key))
		if err != nil {
			return opened{}, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	if row.Kind == models.DestinationSyslog {
		return opened{newSyslogOutput(s.policy.Dialer(), config, row.URL), syslogEncoder(source, s.host)}, nil
	}
	out, form := newHTTPOutput(s.policy.ClientTLS(config), row, own.Header), ocsfEncoder(source, row.Encoding)
	if row.Kind == models.DestinationOTLP {
		form = otlpEncoder(source, row.Encoding)
	}
	return opened{out, form}, nil
}
