package bench

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/proving/loadgen"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// exportRate is how many entries of the log a receiver takes a second. A decision beside that may have exportMoves times the p50 that it has without.
const (
	exportRate  = 2000
	exportMoves = 1.05
)

// exports are the destinations that are measured. An entry is counted by bytes that it has once.
var exports = []struct {
	set    countersign.DestinationSet
	marker string
}{
	{countersign.DestinationSet{Kind: countersign.DestinationKindHttps}, "\n"},
	{countersign.DestinationSet{Kind: countersign.DestinationKindOtlp}, "event.id"},
}

// export measures decisions while a destination is sent a log that was sealed before, and while none is. The log is sent from its beginning in each turn:
// decisions alone cause fewer entries than the receiver takes.
func export(ctx context.Context, b *bench) error {
	ask, err := b.decisions(ctx)
	if err != nil {
		return err
	}
	work := func(context.Context, int) error { return b.allowed(ask.next()) }
	if err := b.fillLog(ctx, work, int(exportRate*(b.Slice+exportReserve).Seconds())); err != nil {
		return err
	}
	admin, err := b.admin()
	if err != nil {
		return err
	}
	for _, x := range exports {
		to, err := newTaker(x.marker)
		if err != nil {
			return err
		}
		err = b.besideExport(ctx, exported{admin, x.set, to}, work)
		to.close()
		if err != nil {
			return err
		}
	}
	return nil
}

// exportReserve is for how much longer than a turn the log lasts.
const exportReserve = 2 * time.Second

// exported is a destination, with the receiver that it is sent to.
type exported struct {
	admin *countersign.Client
	set   countersign.DestinationSet
	to    *taker
}

const exportName = "bench"

// begin sends the log from its beginning, and returns when entries arrive.
func (x exported) begin(ctx context.Context) error {
	if err := x.end(ctx); err != nil {
		return err
	}
	x.to.restart()
	since := time.Unix(0, 0)
	x.set.URL, x.set.Since = x.to.url, &since
	if _, err := x.admin.SetDestination(ctx, exportName, x.set); err != nil {
		return err
	}
	return x.to.await(ctx)
}

// end removes the destination, if it is there.
func (x exported) end(ctx context.Context) error {
	err := x.admin.RemoveDestination(ctx, exportName)
	if api := (*countersign.Error)(nil); errors.As(err, &api) && api.Status == http.StatusNotFound {
		return nil
	}
	return err
}

// besideExport measures decisions with and without an export, and adds the targets.
func (b *bench) besideExport(ctx context.Context, x exported, work loadgen.Work) error {
	l := openLoad(ctx, cmp.Or(b.Rate, openRate))
	var sent int
	var took time.Duration
	with := side{what: fmt.Sprintf("authorize beside an export by %s", x.set.Kind), begin: x.begin, run: func(lasts time.Duration) loadgen.Result {
		before, start := x.to.entries(), time.Now()
		r := l.run(work, lasts)
		sent, took = sent+x.to.entries()-before, took+time.Since(start)
		return r
	}}
	without := l.side("authorize", work)
	without.begin = x.end
	turns := b.turns(ctx, "export", l.how, []side{with, without})
	b.report.Divide(turns, Sides{0, 1, fmt.Sprintf("beside an export by %s over without", x.set.Kind)}, append(LatencyFigures, CostFigures...))
	if err := x.end(ctx); err != nil {
		return err
	}
	each := make([]ratios, len(turns))
	for i, turn := range turns {
		each[i] = ratios{p50: over(turn[0].P50, turn[1].P50)}
	}
	b.report.under(fmt.Sprintf("p50 of a decision beside an export by %s over without", x.set.Kind), medians(each).p50, exportMoves, "x")
	b.report.atLeast(fmt.Sprintf("entries exported by %s", x.set.Kind), over(float64(sent), took.Seconds()), .98*exportRate, "1/s")
	return nil
}

// fillLog makes decisions until so many entries are sealed.
func (b *bench) fillLog(ctx context.Context, work loadgen.Work, entries int) error {
	for wrote := 0; wrote < entries; {
		r := loadgen.Closed(ctx, clients, b.Slice, work)
		if r.Failed > 0 || r.Done() == 0 {
			return fmt.Errorf("%d of %d decisions failed: %v", r.Failed, r.Failed+r.Done(), r.Why)
		}
		var err error
		if wrote, err = b.count(ctx, "events"); err != nil {
			return err
		}
		b.show("entries of the log", wrote, entries)
	}
	if _, err := b.sealed(ctx); err != nil {
		return err
	}
	_, err := b.settle(ctx, "authorizations")
	return err
}

// taker is a receiver that takes exportRate entries a second: it confirms a batch when its last entry is due.
type taker struct {
	url    string
	server *http.Server
	marker []byte
	first  chan struct{}

	mu      sync.Mutex
	started time.Time // zero before the first batch
	taken   int
}

func newTaker(marker string) (*taker, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	t := &taker{url: "http://" + l.Addr().String() + "/", marker: []byte(marker)}
	t.restart()
	t.server = &http.Server{Handler: t, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = t.server.Serve(l) }()
	return t, nil
}

func (t *taker) close() { _ = t.server.Close() }

// restart forgets what was taken.
func (t *taker) restart() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.started, t.taken, t.first = time.Time{}, 0, make(chan struct{})
}

// await returns when the first batch has arrived.
func (t *taker) await(ctx context.Context) error {
	t.mu.Lock()
	first := t.first
	t.mu.Unlock()
	select {
	case <-first:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(sealWithin):
		return errors.New("the destination was sent nothing")
	}
}

func (t *taker) entries() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.taken
}

// take counts the entries of a batch and returns when the last of them is due.
func (t *taker) take(entries int) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.started.IsZero() {
		t.started = time.Now()
		close(t.first)
	}
	t.taken += entries
	return t.started.Add(time.Duration(float64(t.taken) / exportRate * float64(time.Second)))
}

// ServeHTTP implements http.Handler.
func (t *taker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	select {
	case <-time.After(time.Until(t.take(bytes.Count(raw, t.marker)))):
	case <-r.Context().Done():
	}
}
