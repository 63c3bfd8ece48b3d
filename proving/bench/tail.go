package bench

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/proving/loadgen"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

const (
	// tailShare is the share of the machine's own saturation at which latencies are measured.
	tailShare = .75
	// tailLasts is the length of the measurement by default: two checkpoints and several rounds of autovacuum at Postgres's defaults.
	tailLasts = 10 * time.Minute
	// mostTail and worstMinute are the targets: the p99 of all requests, and of any minute, over the p50 of all.
	mostTail, worstMinute = 5.0, 10.0
	// sustained is the share of the rate that must be reached for latencies to say something.
	sustained = .98
	// typeEvery is how often people type, so that their evidence stays fresh: that of more than ten minutes ago does not count.
	typeEvery = 3 * time.Minute
)

// tail finds the rate at which closed loops saturate the machine, then makes decisions at three quarters of it, or at Options.Rate, while
// their events are delivered and sealed, people type, and Postgres writes checkpoints and vacuums. It writes a picture of the latencies
// over time.
func tail(ctx context.Context, b *bench) error {
	ask, err := b.decisions(ctx)
	if err != nil {
		return err
	}
	receiver, err := newArrivals(0)
	if err != nil {
		return err
	}
	defer receiver.close()
	if err := b.subscribeWebhook(ctx, receiver); err != nil {
		return err
	}
	work := func(context.Context, int) error { return b.allowed(ask.next()) }
	saturate := func(lasts time.Duration) loadgen.Result { return saturated(ctx, lasts, work, receiver) }
	saturate(2 * time.Second)
	if _, err := b.settle(ctx, "authorizations"); err != nil {
		return err
	}
	if b.Rate > 0 {
		return b.watchTail(ctx, b.Rate, fmt.Sprintf("%g decisions a second", b.Rate), work)
	}
	turns := b.turns(ctx, "tail", fmt.Sprintf("%d clients", clients), []side{
		{what: "saturation", run: saturate},
	})
	var each []float64
	for _, turn := range turns {
		each = append(each, turn[0].PerSecond)
	}
	slices.Sort(each)
	// The median of the rounds: the best would be too high for a machine that has other work.
	rate := math.Floor(tailShare * each[len(each)/2])
	if rate < 1 {
		return fmt.Errorf("the machine saturates at %.1f requests a second, which is too few to measure", each[len(each)/2])
	}
	return b.watchTail(ctx, rate, fmt.Sprintf("%.0f %% of saturation", 100*tailShare), work)
}

// saturated makes decisions in a closed loop. The time until all of them are delivered counts: while eight clients saturate the machine, the
// deliveries fall behind, and a rate at which they always would is not one that the machine sustains.
func saturated(ctx context.Context, lasts time.Duration, work loadgen.Work, receiver *arrivals) loadgen.Result {
	receiver.forget()
	began := time.Now()
	result := loadgen.Closed(ctx, clients, lasts, work)
	if err := receiver.await(ctx, result.Done()); err != nil {
		return loadgen.Result{Failed: 1, Why: map[string]int{err.Error(): 1}}
	}
	result.Elapsed = time.Since(began)
	return result
}

// subscribeWebhook delivers every decision to a receiver, which keeps the
// relays and the worker busy as production does.
func (b *bench) subscribeWebhook(ctx context.Context, to *arrivals) error {
	admin, err := b.admin()
	if err != nil {
		return err
	}
	_, err = admin.CreateWebhookEndpoint(ctx, countersign.WebhookEndpointCreate{URL: to.url, Events: []string{"authorization.decided"}})
	return err
}

// watchTail runs the open loop, reports its tail and writes the picture. Load says in the report what the rate is.
func (b *bench) watchTail(ctx context.Context, rate float64, load string, work loadgen.Work) error {
	lasts := b.Lasts
	line := NewTimeline(lasts)
	how := fmt.Sprintf("%g/s open for %s", rate, lasts)
	// What goes on besides ends with the load, whether it succeeded or not: a
	// failure of it is returned, because a tail without it says less.
	around, stop := context.WithCancel(ctx)
	var beside errgroup.Group
	beside.Go(func() error { return b.keepTyping(around) })
	beside.Go(func() error { return b.sample(around, line) })
	done := b.Bar.During("decisions at "+how, lasts)
	x := b.measure(ctx, "tail", "authorize, allow and proof", how, func() loadgen.Result {
		return loadgen.OpenEach(ctx, loadgen.Schedule{Rate: rate, Clients: openClients, Lasts: lasts}, work, line.Add)
	})
	done()
	stop()
	if err := beside.Wait(); err != nil {
		return err
	}
	minute, worst := line.WorstMinute()
	note := fmt.Sprintf("tail: p50 %.2f ms, p99 %.2f ms; the worst minute is the %d., with a p99 of %.2f ms; picture: %s.", x.P50, x.P99, minute+1, ms(worst), b.Picture)
	all, slowest := over(x.P99, x.P50), over(ms(worst), x.P50)
	if x.PerSecond < sustained*rate { // latencies are then those of a growing queue, and equally bad
		all, slowest = 0, 0
		note += fmt.Sprintf(" The machine made %.0f of the %g decisions a second that were due, so nothing is compared.", x.PerSecond, rate)
	}
	b.report.under("p99 over p50 at "+load, all, mostTail, "x")
	b.report.under("p99 of the worst minute over p50", slowest, worstMinute, "x")
	b.report.Notes = append(b.report.Notes, note)
	return os.WriteFile(b.Picture, []byte(line.SVG(fmt.Sprintf("Decisions at %s", how))), 0o644) // #nosec G306 -- a picture
}

// keepTyping sends new evidence of every person now and then, until ctx ends.
func (b *bench) keepTyping(ctx context.Context) error {
	tick := time.NewTicker(typeEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		for _, p := range b.typing {
			if err := b.typeMore(p); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
}

// typeMore sends a frame that ends now to the person's session: a new session would be decided on before it has evidence.
func (b *bench) typeMore(p person) error {
	text, err := p.typist.frame(frameKeys)
	if err != nil {
		return err
	}
	return b.server.DoOK("POST", "/api/v1/sessions/"+p.session+"/evidence", frame(text, "score", time.Now().Add(-frameLasts), 0), nil)
}

// sample reads once a second what the processes use and what Postgres does meanwhile, until ctx ends.
func (b *bench) sample(ctx context.Context, line *Timeline) error {
	return onDatabase(ctx, b.rig.DatabaseURL(), func(conn *pgx.Conn) error {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		var last Sample
		for first := true; ; first = false {
			now := Sample{At: time.Now()}
			now.CPU = map[string]time.Duration{
				"API": b.rig.API.Usage().CPU, "worker": b.rig.Worker.Usage().CPU, "Postgres": b.rig.Postgres.Usage().CPU,
				"Temporal": b.rig.Temporal.Usage().CPU,
			}
			err := conn.QueryRow(ctx, `select (select checkpoints_timed + checkpoints_req from pg_stat_bgwriter),
				(select count(*) from pg_stat_activity where backend_type = 'autovacuum worker')`).Scan(&now.Checkpoints, &now.Vacuums)
			switch {
			case ctx.Err() != nil:
				return nil
			case err != nil:
				return err
			case !first:
				line.Sample(last, now)
			}
			last = now
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
			}
		}
	})
}

// Sample has the counters of the machine at a moment.
type Sample struct {
	At          time.Time
	CPU         map[string]time.Duration // by process, since it began
	Checkpoints int                      // since the server began
	Vacuums     int                      // at this moment
}

// Timeline collects latencies by second. A latency belongs to the second in
// which its work was due, so that a stall shows in the second that it began in. Its methods may be called concurrently.
type Timeline struct {
	start time.Time

	mu      sync.Mutex
	seconds [][]time.Duration
	cpu     map[string][]float64 // cores, by second
	marks   map[string][]int     // seconds in which something happened
}

// NewTimeline begins now and lasts for so long.
func NewTimeline(lasts time.Duration) *Timeline {
	n := max(int(math.Ceil(lasts.Seconds())), 1)
	return &Timeline{start: time.Now(), seconds: make([][]time.Duration, n), cpu: map[string][]float64{}, marks: map[string][]int{}}
}

// Add records a latency of work that was due so long after the start.
func (t *Timeline) Add(due, took time.Duration) {
	at := min(int(due.Seconds()), len(t.seconds)-1)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seconds[at] = append(t.seconds[at], took)
}

// Sample records what happened between two moments, in the second in which the later one is.
func (t *Timeline) Sample(before, now Sample) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := int(now.At.Sub(t.start).Seconds())
	elapsed := now.At.Sub(before.At)
	if at < 0 || at >= len(t.seconds) || elapsed <= 0 {
		return
	}
	for name, used := range now.CPU {
		if t.cpu[name] == nil {
			t.cpu[name] = make([]float64, len(t.seconds))
		}
		t.cpu[name][at] = (used - before.CPU[name]).Seconds() / elapsed.Seconds()
	}
	if now.Checkpoints > before.Checkpoints {
		t.marks["checkpoint"] = append(t.marks["checkpoint"], at)
	}
	if now.Vacuums > 0 {
		t.marks["autovacuum"] = append(t.marks["autovacuum"], at)
	}
}

// WorstMinute returns the minute with the highest p99, from 0, and that p99. The last minute may be shorter than the others.
func (t *Timeline) WorstMinute() (minute int, p99 time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := 0; i*60 < len(t.seconds); i++ {
		r := loadgen.Result{Latencies: slices.Concat(t.seconds[i*60 : min((i+1)*60, len(t.seconds))]...)}
		if q := r.Quantile(.99); q > p99 {
			minute, p99 = i, q
		}
	}
	return minute, p99
}
