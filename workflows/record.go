package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/countersign-dev/countersign/activities"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// MoveRequest is the argument of every update of a record. Request is the hex digest of the stored request of a challenge or a hold; the other
// records have who asks, as ids. Histories contain it: fields are added, never renamed.
type MoveRequest struct {
	Request    string `json:",omitempty"`
	Resolution string `json:",omitempty"`
	Reason     string `json:",omitempty"`
	Actor      string `json:",omitempty"`
	RequestID  string `json:",omitempty"`
}

// recordKind declares how the records of one kind wait: for whom, until when, and what ends it. Its workflow is run; I is the input and O the
// outcome.
type recordKind[I, O any] struct {
	start   func(in I) startRequest
	key     func(in I) (id, environment string)
	updates []recordUpdate
	slow    bool // the steps are regular activities: they may take seconds
	// lacks reports that an update cannot be made of the request, and why; nil for an update that needs nothing.
	lacks func(m MoveRequest) string
	// next returns the next deadline; a zero time is none.
	next func(in I) deadline
	// read is the activity that reads the record, and expires it only if it is due.
	read string
	// late refuses an update after the last deadline; nil if the record can be settled then.
	late func(in I) (at time.Time, code problem.Code, detail string)
	// closed refuses an update of a settled record. It is nil if the record was settled the same way: a repeated request returns the result of the
	// first.
	closed func(o O, m MoveRequest) error
	// waits takes the deadlines of a record over that still waits; false for a settled one.
	waits func(in *I, o O) bool
	state func(o O) (state string, decision policy.Effect)

	opened  func(in I) string              // the first line of the timeline
	moved   func(o O) (state, line string) // after an update that leaves the record waiting; nil for none
	settled func(o O) string               // the last line
}

// recordUpdate is an update and the activity that makes its move.
type recordUpdate struct {
	name, activity, about string
	subject               string // of the line about a refusal: "A review"; empty adds none
}

// deadline is a time and the activity that is due at it.
type deadline struct {
	at       time.Time
	activity string
	timer    string // the summary of the timer
	line     string // of the timeline, if the record waits further; empty adds none
}

// recordRun is the state of one workflow run.
type recordRun[I, O any] struct {
	recordKind[I, O]
	moveLock
	timeline
	in       I
	outcome  *O // of a settled record
	signaled bool
}

// run waits until an update, a deadline or another part of the service settles the record.
func (k recordKind[I, O]) run(ctx workflow.Context, in I) (out O, err error) {
	r := &recordRun[I, O]{recordKind: k, in: in, moveLock: newMoveLock(ctx)}
	// Nothing may block before the handlers are registered: an update that arrives earlier fails.
	watchSettled(ctx, func(workflow.Context) { r.signaled = true })
	for _, u := range k.updates {
		err := workflow.SetUpdateHandlerWithOptions(ctx, u.name, func(ctx workflow.Context, m MoveRequest) (O, error) { return r.asked(ctx, u, m) },
			workflow.UpdateHandlerOptions{Validator: r.validate, Description: u.about})
		if err != nil {
			return out, err
		}
	}
	r.record(ctx, "%s", k.opened(in))
	for r.outcome == nil {
		due, err := r.wait(ctx)
		if err != nil {
			return out, err
		}
		if err := r.byTime(ctx, due); err != nil {
			return out, err
		}
	}
	state, decision := k.state(*r.outcome)
	if err := upsertState(ctx, state, decision); err != nil {
		return out, err
	}
	return *r.outcome, finish(ctx)
}

// validate refuses requests that cannot succeed any more. A refusal by a validator adds no event to the history.
func (r *recordRun[I, O]) validate(ctx workflow.Context, m MoveRequest) error {
	if r.lacks != nil {
		if what := r.lacks(m); what != "" {
			return activities.Refuse(problem.Conflict, what)
		}
	}
	if r.outcome != nil {
		return r.closed(*r.outcome, m)
	}
	if r.late != nil && !r.moving() {
		if at, code, detail := r.late(r.in); !workflow.Now(ctx).Before(at) {
			return activities.Refuse(code, detail)
		}
	}
	return nil
}

// asked makes the move of an update. It checks again once it has the lock: another move may have settled the record meanwhile.
func (r *recordRun[I, O]) asked(ctx workflow.Context, u recordUpdate, m MoveRequest) (out O, err error) {
	err = r.move(ctx, func() error {
		if r.outcome != nil {
			out = *r.outcome
			return r.closed(out, m)
		}
		if out, err = r.step(ctx, u.activity, m); err != nil || r.outcome != nil || r.moved == nil {
			if u.subject != "" {
				r.recordRefusal(ctx, u.subject, err)
			}
			return err
		}
		state, line := r.moved(out)
		r.record(ctx, "%s", line)
		return upsertState(ctx, state, "")
	})
	return out, err
}

// wait waits for the next deadline and returns what is due. If the record is settled or signaled before, that is to read it.
func (r *recordRun[I, O]) wait(ctx workflow.Context) (deadline, error) {
	due, woken := r.next(r.in), func() bool { return r.outcome != nil || r.signaled }
	if due.at.IsZero() {
		return deadline{activity: r.read}, workflow.Await(ctx, woken)
	}
	early, err := workflow.AwaitWithOptions(ctx, workflow.AwaitOptions{
		Timeout:      max(due.at.Sub(workflow.Now(ctx)), 0),
		TimerOptions: workflow.TimerOptions{Summary: due.timer},
	}, woken)
	if early {
		return deadline{activity: r.read}, err
	}
	return due, err
}

// byTime makes the move that is due, unless an update has settled the record.
func (r *recordRun[I, O]) byTime(ctx workflow.Context, due deadline) error {
	return r.move(ctx, func() error {
		r.signaled = false
		if r.outcome != nil {
			return nil
		}
		if _, err := r.step(ctx, due.activity, MoveRequest{}); err != nil || r.outcome != nil || due.line == "" {
			return err
		}
		r.record(ctx, "%s", due.line)
		return nil
	})
}

// step runs one move and takes its outcome over.
func (r *recordRun[I, O]) step(ctx workflow.Context, activity string, m MoveRequest) (O, error) {
	id, environment := r.key(r.in)
	out, err := tryStep[O](ctx, func(ctx workflow.Context, at time.Time) workflow.Future {
		move := activities.Move{ID: id, Environment: environment, Request: m.Request, Resolution: m.Resolution, Reason: m.Reason, Actor: m.Actor, RequestID: m.RequestID, At: at}
		if r.slow {
			return workflow.ExecuteActivity(slowStep(ctx, stepSummary(activity)), activity, move)
		}
		return workflow.ExecuteLocalActivity(quickStep(ctx, stepSummary(activity)), activity, move)
	})
	if err == nil && !r.waits(&r.in, out) {
		r.outcome = &out
		r.record(ctx, "%s", r.settled(out))
	}
	return out, err
}
