package chaos

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// mark is the length of the journal at the restore point.
type mark struct {
	begun, done                                            time.Time // around the moment of the point
	asked, completed, cancelled, reviewed, consumed, taken int
	decisions                                              int // of asked, those with a response
}

// mark begins the marking of a point: what was returned until now is before it. The caller sets done when the point is written:
// what is sent from then on is after it.
func (j *Journal) mark() mark {
	m := mark{begun: time.Now()}
	j.write(func() {
		m.asked, m.completed, m.cancelled = len(j.Asked), len(j.Completed), len(j.Cancelled)
		m.reviewed, m.consumed, m.taken = len(j.Reviewed), len(j.Consumed), len(j.Taken)
		m.decisions = decided(j.Asked)
	})
	return m
}

// decided counts the requests with a response.
func decided(asked []Asked) (n int) {
	for _, a := range asked {
		if a.Answer != "" {
			n++
		}
	}
	return n
}

// prune removes from the journal what the restore lost, and counts it. A request that was under way at the point may be on either
// side of it: it stays as one without a response, unless it is stored.
func (d *drill) prune(ctx context.Context) error {
	// Before the log is read: what is delivered later is in the log.
	delivered := d.receiver.received()
	f, err := gather(ctx, d.rig.DatabaseURL(), d.tenant.Environment)
	if err != nil {
		return err
	}
	stored := map[string]bool{}
	for _, a := range f.Decisions {
		stored[a.ID] = true
	}
	d.now.Lost = map[string]int{}
	d.pruneAsked(stored)
	j, m := d.journal, d.marked
	d.now.Lost["completed challenges"] = cut(&j.Completed, m.completed)
	d.now.Lost["cancelled challenges"] = cut(&j.Cancelled, m.cancelled)
	d.now.Lost["reviews"] = cut(&j.Reviewed, m.reviewed)
	d.now.Lost["consumed proofs"] = cut(&j.Consumed, m.consumed)
	d.now.Lost["frames of evidence"] = cut(&j.Taken, m.taken)
	d.now.Lost["delivered webhooks"] = d.receiver.forget(delivered, f.Events)
	return nil
}

// pruneAsked prunes the requests for decisions.
func (d *drill) pruneAsked(stored map[string]bool) {
	j, m := d.journal, d.marked
	rest := j.Asked[m.asked:]
	j.Asked = slices.Clone(j.Asked[:m.asked])
	for _, a := range rest {
		if a.Sent.After(d.restored) {
			j.Asked = append(j.Asked, a)
			continue
		}
		lost := a.Answer != "" && !stored[a.ID]
		if lost {
			d.now.Lost["decisions"]++
			if a.Want != "allow" {
				d.orphans++
			}
			a.Answer = ""
		}
		switch {
		case !a.Sent.After(m.done):
			j.Asked = append(j.Asked, a)
		case a.Answer != "":
			d.now.Violations = append(d.now.Violations, fmt.Sprintf("authorization %s was requested after the point and is stored", a.ID))
		}
	}
}

// cut shortens a list and returns by how much.
func cut[T any](list *[]T, to int) int {
	lost := len(*list) - to
	*list = (*list)[:to:to]
	return lost
}

// allowOrphans takes the workflow runs out of the facts that failed because their record is gone: challenges and holds that were
// opened after the point.
func (d *drill) allowOrphans(f *Facts) {
	f.Runs["failed"] = max(0, f.Runs["failed"]-d.orphans)
}
