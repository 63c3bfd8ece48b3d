package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/countersign-dev/countersign/activities"
)

// contest lets moves on one record through one at a time, so that each sees what those before it did. An update that is
// accepted while another move is under way waits its turn.
type contest struct {
	turn workflow.Mutex
}

func newContest(ctx workflow.Context) contest { return contest{turn: workflow.NewMutex(ctx)} }

// move runs f when no other move is under way.
func (c contest) move(ctx workflow.Context, f func() error) error {
	if err := c.turn.Lock(ctx); err != nil {
		return err
	}
	defer c.turn.Unlock()
	return f()
}

// The pause before a step that could not be done is tried again: doubled from the first up to the long one, which is
// reached after some minutes and keeps the history of an outage of days within its limit.
const (
	firstPause   = 500 * time.Millisecond
	shortPause   = 10 * time.Second
	longPause    = 5 * time.Minute
	patientAfter = 30
)

// untilAnswered runs step until it succeeds or is refused. An infrastructure failure is neither: an update that ended
// with one would answer every later caller with it. Step is called with the workflow's time, anew each time, so that what
// was in time when it was asked may be too late when it can be done.
func untilAnswered[T any](ctx workflow.Context, step func(ctx workflow.Context, at time.Time) workflow.Future) (T, error) {
	for try := 0; ; try++ {
		var out T
		err := step(ctx, workflow.Now(ctx)).Get(ctx, &out)
		if err == nil {
			return out, nil
		}
		if code, detail, refused := activities.Refusal(err); refused {
			return out, activities.Refuse(code, detail)
		}
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		workflow.GetLogger(ctx).Warn("step not done; trying again", "try", try, "error", err)
		if err := workflow.Sleep(ctx, pause(try)); err != nil {
			return out, err
		}
	}
}

func pause(try int) time.Duration {
	switch {
	case try >= patientAfter:
		return longPause
	case try > 4:
		return shortPause
	default:
		return firstPause << try
	}
}

// finish waits until every update has its answer; a run that ended before would leave them without.
func finish(ctx workflow.Context) error {
	return workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) })
}

// watchSettled calls f for each signal that the record was settled past the run.
func watchSettled(ctx workflow.Context, f func(workflow.Context)) {
	signals := workflow.GetSignalChannel(ctx, SignalSettled)
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			signals.Receive(ctx, nil)
			f(ctx)
		}
	})
}
