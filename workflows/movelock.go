package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/countersign-dev/countersign/activities"
)

// moveLock serialises the moves on one record, so that each move sees the result of the previous one. An update that is
// accepted while another move is under way waits for the lock.
type moveLock struct {
	turn workflow.Mutex
}

func newMoveLock(ctx workflow.Context) moveLock { return moveLock{turn: workflow.NewMutex(ctx)} }

// move runs f while no other move is under way. If a record that f rests on was altered, it runs again later, and others move meanwhile.
func (l moveLock) move(ctx workflow.Context, f func() error) error {
	for try := 0; ; try++ {
		err := l.alone(ctx, f)
		if !activities.Altered(err) {
			return err
		}
		workflow.GetLogger(ctx).Warn("an altered record; retrying", "try", try)
		if err := workflow.Sleep(ctx, pause(try)); err != nil {
			return err
		}
	}
}

func (l moveLock) alone(ctx workflow.Context, f func() error) error {
	if err := l.turn.Lock(ctx); err != nil {
		return err
	}
	defer l.turn.Unlock()
	return f()
}

// moving reports whether a move is under way. Until it ends, the deadline alone says nothing about the record: a move that
// began in time may settle it after the deadline.
func (l moveLock) moving() bool { return l.turn.IsLocked() }

// Pauses between the attempts of a failing step. They double from firstPause up to shortPause. After longPauseAfter attempts,
// which is some minutes, every pause is longPause, so that an outage of days stays within the size limit of a history.
const (
	firstPause     = 500 * time.Millisecond
	shortPause     = 10 * time.Second
	longPause      = 5 * time.Minute
	longPauseAfter = 30
)

// retryStep is tryStep, and waits until an altered record is repaired.
func retryStep[T any](ctx workflow.Context, step func(ctx workflow.Context, at time.Time) workflow.Future) (T, error) {
	for {
		out, err := tryStep[T](ctx, step)
		if !activities.Altered(err) {
			return out, err
		}
		if err := workflow.Sleep(ctx, longPause); err != nil {
			return out, err
		}
	}
}

// tryStep runs step until it succeeds, is refused, or rests on an altered record. It never returns an infrastructure failure: Temporal would return the
// same failure to every later caller with the update's id. Each attempt receives the workflow's current time, so a request
// that arrived in time may be too late when its step finally runs.
func tryStep[T any](ctx workflow.Context, step func(ctx workflow.Context, at time.Time) workflow.Future) (T, error) {
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
		if activities.Altered(err) {
			return out, err
		}
		workflow.GetLogger(ctx).Warn("step failed; retrying", "try", try, "error", err)
		if err := workflow.Sleep(ctx, pause(try)); err != nil {
			return out, err
		}
	}
}

// pause returns the pause after an attempt; attempts count from 0.
func pause(try int) time.Duration {
	switch {
	case try >= longPauseAfter:
		return longPause
	case try > 4:
		return shortPause
	default:
		return firstPause << try
	}
}

// finish waits until every update handler has returned. A workflow that ends earlier fails the updates under way.
func finish(ctx workflow.Context) error {
	return workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) })
}

// watchSettled calls f for each signal that the record was settled outside the workflow.
func watchSettled(ctx workflow.Context, f func(workflow.Context)) {
	signals := workflow.GetSignalChannel(ctx, SignalSettled)
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			signals.Receive(ctx, nil)
			f(ctx)
		}
	})
}
