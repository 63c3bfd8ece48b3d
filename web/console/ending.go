package console

import (
	"slices"

	"github.com/countersign-dev/countersign/internal/authz/hold"
	reads "github.com/countersign-dev/countersign/internal/delivery/consolequery"
	"github.com/countersign-dev/countersign/models"
)

// ending is the end of a hold and what followed from it.
type ending struct {
	Word     tag // approved, rejected or expired
	At       *stamp
	By       []actor   // who approved or rejected it; none if it expired
	FollowUp *chainRow // the decision that an approval made; nil for none
	Proof    *proofView
}

// endingOf describes the end of a hold from its record; nil for a decision that was not held, and while its hold is pending.
func endingOf(seen reads.Case, now stamps) *ending {
	h, record := seen.Hold, seen.Account.Hold
	if h == nil || record == nil {
		return nil
	}
	status := hold.Effective(*h, now.now)
	if status == models.HoldPending {
		return nil
	}
	out := &ending{Word: tagOf(string(status)), At: now.read(record.ResolvedAt)}
	if out.At == nil { // due, although its timer has not fired
		out.At = now.text(record.DueAt)
	}
	want := map[models.HoldStatus]string{models.HoldApproved: hold.Approve, models.HoldRejected: hold.Reject}[status]
	for _, r := range record.Reviews {
		if r.Resolution == want {
			out.By = append(out.By, actorOf(r.Reviewer, seen.Names))
		}
	}
	child := slices.IndexFunc(seen.Chain, func(l reads.ChainLink) bool { return record.Child != nil && l.ID == *record.Child })
	if child >= 0 {
		l := seen.Chain[child]
		out.FollowUp = &chainRow{ChainLink: l, At: now.text(l.At), Decision: tagOf(l.Decision), Short: short(l.ID)}
		out.Proof = now.proof(l.Proof)
	}
	return out
}
