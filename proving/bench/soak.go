package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/countersign-dev/countersign/proving/harness"
	"github.com/countersign-dev/countersign/proving/loadgen"
)

// soakRate is low enough to leave room for everything else that happens in
// a long run: expiry of caches, upkeep, sealing of the audit chain,
// deliveries.
const soakRate = 100

// soakSteps is how many times a soak measures memory and people type again.
// There are more steps if people would otherwise be silent for longer than
// soakSilence: evidence of more than ten minutes ago does not count.
const (
	soakSteps   = 10
	soakSilence = 8 * time.Minute
)

// soak makes decisions for a long time. It reports how memory, goroutines
// and open files of API and worker changed from the first step, when
// everything is warm, to the end.
func soak(ctx context.Context, b *bench) error {
	if b.Soak <= 0 {
		return fmt.Errorf("say how long: SOAK=1h")
	}
	if err := harness.NewAction(ctx, b.sdk, "payment.release", trusting); err != nil {
		return err
	}
	all, err := b.people(ctx, subjects, true)
	if err != nil {
		return err
	}
	ask := newRequests("payment.release", func(i int) string { return all[i%len(all)].subject })
	var first cost
	steps := max(soakSteps, int(b.Soak/soakSilence)+1)
	for step := range steps {
		if err := parallel(ctx, len(all), func(i int) error {
			_, err := b.typeFrames(ctx, all[i], "score", 3)
			return err
		}); err != nil {
			return err
		}
		stop := b.Bar.During(fmt.Sprintf("soak, part %d of %d", step+1, steps), b.Soak/time.Duration(steps))
		r := b.measure(ctx, "soak", "authorize, allow and proof", fmt.Sprintf("%d/s open, part %d of %d", soakRate, step+1, steps), func() loadgen.Result {
			return loadgen.Open(ctx, soakRate, openClients, b.Soak/time.Duration(steps), func(context.Context, int) error { return b.allowed(ask.next()) })
		})
		stop()
		if step == 0 {
			first = b.usage(ctx)
		}
		b.memory(fmt.Sprintf("soak, part %d", step+1), r)
	}
	last := b.usage(ctx)
	b.report.Notes = append(b.report.Notes, fmt.Sprintf("soak, from the first part of %s to the end: API %s; worker %s.", b.Soak.Round(time.Second),
		drift(first.api.RSS, last.api.RSS, first.api.Goroutines, last.api.Goroutines, first.api.Files, last.api.Files),
		drift(first.worker.RSS, last.worker.RSS, first.worker.Goroutines, last.worker.Goroutines, first.worker.Files, last.worker.Files)))
	b.report.under("soak: growth of memory", (mb(last.api.RSS)+mb(last.worker.RSS))/(mb(first.api.RSS)+mb(first.worker.RSS)), 1.25, "x")
	return nil
}

// drift formats the change of one process.
func drift(rss0, rss1 int64, goroutines0, goroutines1, files0, files1 float64) string {
	return fmt.Sprintf("memory %.0f to %.0f MB, goroutines %.0f to %.0f, open files %.0f to %.0f",
		mb(rss0), mb(rss1), goroutines0, goroutines1, files0, files1)
}
