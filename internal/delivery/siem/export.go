package siem

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// text and number are values of OTLP, whose 64-bit integers are texts in JSON.
func text(key, value string) map[string]any {
	return map[string]any{"key": key, "value": map[string]any{"stringValue": value}}
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// The formats of an export.
const (
	FormatOCSF = "ocsf"
	FormatOTLP = "otlp"
)

const (
	// batch is how many entries are written before the position is stored: as many are repeated at most after an interruption.
	batch = 500
	// pollEvery is how often the log is read if it has nothing new.
	pollEvery = time.Second
)

// Export is an export of an environment's sealed log.
type Export struct {
	Source
	Store  *pg.Store
	Format string
	After  int64      // the number of the last entry that the receiver has; 0 for none
	Since  *time.Time // entries from before are passed over; nil for none
	Follow bool       // wait for further entries until ctx ends
	Out    io.Writer
	// Written is called after entries up to a number have been written; nil for no one.
	Written func(number int64) error
}

// Run writes entries as JSON Lines in the order of the chain, and returns how many. An interruption repeats entries and omits none.
func (x Export) Run(ctx context.Context) (written int64, err error) {
	scope := pg.Scope{Tenant: x.Tenant, Environment: x.Environment}
	for from := x.After + 1; ; {
		links, err := audit.ChainLinks(ctx, x.Store.Q, scope, from, batch)
		if err != nil {
			return written, ended(ctx, err)
		}
		n, err := x.write(links)
		written += n
		if err != nil {
			return written, err
		}
		if len(links) > 0 {
			from = links[len(links)-1].Seq + 1
			if err := x.position(from - 1); err != nil {
				return written, err
			}
		}
		switch {
		case len(links) >= batch:
			continue
		case !x.Follow:
			return written, nil
		}
		select {
		case <-ctx.Done():
			return written, nil
		case <-time.After(pollEvery):
		}
	}
}

// ended returns nil if the operator ended the export.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the error follows from the end
	}
	return err
}

func (x Export) position(number int64) error {
	if x.Written == nil {
		return nil
	}
	return x.Written(number)
}

// write writes entries. Those that are missing from the database are passed over: audit verify finds them.
func (x Export) write(links []audit.Link) (n int64, err error) {
	out := bufio.NewWriter(x.Out)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for _, l := range links {
		if l.Event == nil || x.Since != nil && l.Event.At.Before(*x.Since) {
			continue
		}
		form := x.OCSF
		if x.Format == FormatOTLP {
			form = func(l audit.Link) (map[string]any, error) { return x.OTLP(l) }
		}
		event, err := form(l)
		if err != nil {
			return n, fmt.Errorf("entry %s: %w", l.EventID, err)
		}
		if err := enc.Encode(event); err != nil {
			return n, err
		}
		n++
	}
	return n, out.Flush()
}
