package decisions

import (
	"slices"

	"github.com/countersign-dev/countersign/internal/authz/hold"
	reads "github.com/countersign-dev/countersign/internal/delivery/consolequery"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web/console/show"
)

// ending is the end of a hold and what followed from it.
type ending struct {
	Word     show.Tag // approved, rejected or expired
	At       *show.Stamp
	By       []show.Actor // who approved or rejected it; none if it expired
	FollowUp *chainRow    // the decision that an approval made; nil for none
	Proof    *proofView
}

// endingOf describes the end of a hold from its record; nil for a decision that was not held, and while its hold is pending.
func endingOf(seen reads.Case, now show.Stamps) *ending {
	h, record := seen.Hold, seen.Account.Hold
	if h == nil || record == nil {
		return nil
	}
	status := hold.Effective(*h, now.Now)
	if status == models.HoldPending {
		return nil
	}
	out := &ending{Word: show.TagOf(string(status)), At: now.Read(record.ResolvedAt)}
	if out.At == nil { // due, although its timer has not fired
		out.At = now.Text(record.DueAt)
	}
	want := map[models.HoldStatus]string{models.HoldApproved: hold.Approve, models.HoldRejected: hold.Reject}[status]
	for _, r := range record.Reviews {
		if r.Resolution == want {
			out.By = append(out.By, show.ActorOf(r.Reviewer, seen.Names))
		}
	}
	child := slices.IndexFunc(seen.Chain, func(l reads.ChainLink) bool { return record.Child != nil && l.ID == *record.Child })
	if child >= 0 {
		l := seen.Chain[child]
		out.FollowUp = &chainRow{ChainLink: l, At: now.Text(l.At), Decision: show.TagOf(l.Decision), Short: show.Short(l.ID)}
		out.Proof = proofOf(now, l.Proof)
	}
	return out
}
