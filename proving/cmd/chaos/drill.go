package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/countersign-dev/countersign/proving/chaos"
	"github.com/countersign-dev/countersign/workflows"
)

// drillLoad is how long clients load the service before the point, after it, and after the restore.
const drillLoad = 8 * time.Second

// rehearse loses and restores databases (make restore-drill).
func rehearse(ctx context.Context, o chaos.Options) error {
	results, err := chaos.Drill(ctx, chaos.DrillOptions{Options: o, Load: drillLoad, Disasters: chaos.Disasters, Upkeep: runUpkeep})
	failed := 0
	for _, r := range results {
		printRestored(o.Out, r)
		failed += len(r.Violations)
	}
	if err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d checks failed; SEED=%d makes the same load", failed, o.Seed)
	}
	_, _ = fmt.Fprintln(o.Out, "\neverything that was returned before the point is there, nothing after it is, the audit chain is intact, and everything ended")
	return nil
}

func printRestored(out io.Writer, r chaos.Restored) {
	_, _ = fmt.Fprintf(out, "\n%s\n", r.Disaster)
	for _, s := range r.Steps {
		_, _ = fmt.Fprintf(out, "  %6.1f s  %s\n", s.Took.Seconds(), s.Name)
	}
	_, _ = fmt.Fprintf(out, "  base backup of %d MB; %d decisions were returned before the point and are there\n", r.Backup>>20, r.Kept)
	if r.LostFor == 0 {
		_, _ = fmt.Fprintln(out, "  nothing of the service's database was lost")
	} else {
		_, _ = fmt.Fprintf(out, "  lost: what was returned in the %.1f s after the point\n", r.LostFor.Seconds())
	}
	for _, kind := range slices.Sorted(maps.Keys(r.Lost)) {
		_, _ = fmt.Fprintf(out, "  %6d  %s\n", r.Lost[kind], kind)
	}
	for _, violation := range r.Violations {
		_, _ = fmt.Fprintln(out, "  VIOLATED:", violation)
	}
}

// runUpkeep starts the tasks that settle overdue challenges and holds. Their schedules may be missing for a few seconds after
// Temporal began with an empty database.
func runUpkeep(ctx context.Context, address string) error {
	c, err := client.DialContext(ctx, client.Options{HostPort: address, Namespace: workflows.Namespace, Logger: quietLog{}})
	if err != nil {
		return err
	}
	defer c.Close()
	for _, task := range []string{"overdue-challenges", "overdue-holds"} {
		err := c.ScheduleClient().GetHandle(ctx, workflows.UpkeepID(task)).Trigger(ctx, client.ScheduleTriggerOptions{})
		var missing *serviceerror.NotFound
		if err != nil && !errors.As(err, &missing) {
			return err
		}
	}
	return nil
}
