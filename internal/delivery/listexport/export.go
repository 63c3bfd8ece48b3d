package listexport

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
)

const (
	// Batch is the number of rows that a source reads at once.
	Batch = 500
	// Limit is the time that one export may take.
	Limit = 15 * time.Minute
	// MaxExports is the number of exports of one process at the same time.
	MaxExports = 8
	// recordWithin bounds the transaction that records the end.
	recordWithin = 10 * time.Second
)

// Source reads the page of rows behind a cursor, and the cursor of the next page; empty if there is none. Each row has one value
// for each column: a string, a number, a bool, a time, a list of strings, or a pointer to one of the first four.
type Source func(ctx context.Context, cursor string) (rows [][]any, next string, err error)

// List is one list to export.
type List struct {
	Name    string // in the audit log
	Columns []string
	// Filters are the filters in force, for the audit log: name=value, or the name alone if the value may be personal data.
	Filters []string
	Source  Source
}

// Service exports lists. It is safe for concurrent use.
type Service struct {
	store *pg.Store
	clock clock.Clock
	log   *slog.Logger
	slots chan struct{}
}

// New returns a service.
func New(st *pg.Store, c clock.Clock, log *slog.Logger) *Service {
	return &Service{store: st, clock: c, log: log, slots: make(chan struct{}, MaxExports)}
}

// Open records that the export begins and returns its file, which the caller must read to the end or close. Reading fails if the
// list could not be read completely. A filter that the list refuses is an error of Open, before anything is recorded.
func (s *Service) Open(ctx context.Context, p identity.Principal, list List, f Format) (io.ReadCloser, error) {
	select {
	case s.slots <- struct{}{}:
	default:
		return nil, problem.NewUnavailable("Too many exports are running. Retry after the Retry-After header.", nil)
	}
	e := &export{Service: s, by: p, list: list, format: f}
	if err := e.begin(ctx); err != nil {
		<-s.slots
		return nil, err
	}
	in, out := io.Pipe()
	go e.run(context.WithoutCancel(ctx), out)
	return in, nil
}

// export is one export under way.
type export struct {
	*Service
	by     identity.Principal
	list   List
	format Format
	rows   [][]any // the page that was read last
	next   string
}

// begin reads the first page and records the beginning.
func (e *export) begin(ctx context.Context) (err error) {
	if e.rows, e.next, err = e.list.Source(ctx, ""); err != nil {
		return err
	}
	return e.record(ctx, events.ListExportStartedData{List: e.list.Name, Format: string(e.format), Filters: e.list.Filters})
}

// run writes the file and records the end. An error aborts the file, so that its reader sees an error and not an end.
func (e *export) run(ctx context.Context, out *io.PipeWriter) {
	defer func() { <-e.slots }()
	limited, cancel := context.WithTimeout(ctx, Limit)
	defer cancel()
	rows, err := e.write(limited, out)
	ended := events.ListExportEndedData{List: e.list.Name, Format: string(e.format), Filters: e.list.Filters, Rows: rows, Complete: err == nil}
	within, done := context.WithTimeout(ctx, recordWithin)
	defer done()
	if failed := e.record(within, ended); failed != nil {
		err = failed // a file whose export is not recorded is not complete
	}
	if err != nil {
		e.log.WarnContext(ctx, "export broke off", "list", e.list.Name, "rows", rows, "request_id", e.by.RequestID, "error", err.Error())
	}
	_ = out.CloseWithError(err)
}

// write writes all pages and returns the number of rows written.
func (e *export) write(ctx context.Context, out io.Writer) (int64, error) {
	w, err := newWriter(out, e.format, e.list.Columns)
	if err != nil {
		return 0, err
	}
	for {
		for _, row := range e.rows {
			if err := w.row(row); err != nil {
				return w.rows, err
			}
		}
		if e.next == "" {
			return w.rows, w.end(e.clock.Now())
		}
		if e.rows, e.next, err = e.list.Source(ctx, e.next); err != nil {
			w.breakOff(e.clock.Now())
			return w.rows, err
		}
	}
}

func (e *export) record(ctx context.Context, data events.Data) error {
	return e.store.Write(ctx, func(q *pg.Q) error {
		return events.Append(ctx, q, events.Entry{
			Scope: e.by.Store(), At: e.clock.Now(), Actor: e.by.Actor(), RequestID: e.by.RequestID, Data: data,
		})
	})
}
