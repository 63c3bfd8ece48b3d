package reviews

import (
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web/console/decisions"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

// settled is the user's last review, on the page of the next hold.
type settled struct {
	show.Notice
	Title, URL string // of the hold that was reviewed; empty if it is the open one
}

// settled says what became of the user's last review; nil if the URL names none. The URL only asks for it: what it says is read from the
// record.
func (c *Pages) settled(v *shell.Visit, lines []givenView) (*settled, error) {
	of := v.Query("of")
	if of == "" || ofHold(lines, of) != nil { // which says more
		return nil, nil
	}
	seen, err := c.DecisionPages.CaseOf(v, of)
	if shell.IsAbsent(err) || err == nil && seen.Case.Hold == nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(seen.Reviews, func(r decisions.ReviewLine) bool { return r.Who.Raw == v.Principal().Actor() }) {
		return nil, nil
	}
	_, approvals, err := c.standing(v, seen.Case.Hold)
	if err != nil {
		return nil, err
	}
	out := &settled{Notice: flash(seen, approvals.Given)}
	if of != v.Param("id") {
		out.Title, out.URL = strings.TrimSpace(seen.Title()+" "+seen.Case.Outline.Amount), v.At("reviews", of)
	}
	return out, nil
}

// flash says what became of a review. given are the approvals that count.
func flash(seen decisions.CaseView, given int) show.Notice {
	switch seen.Case.Hold.Status {
	case models.HoldApproved:
		return approvedFlash(seen)
	case models.HoldRejected:
		return show.Notice{Tone: "good", Text: "Rejected: the request is denied."}
	case models.HoldExpired:
		return show.Notice{Tone: "warn", Text: "The hold has expired and was not approved."}
	case models.HoldWithdrawn:
		return show.Notice{Tone: "warn", Text: "The relying party withdrew the request. Nothing was approved."}
	}
	return show.Notice{Tone: "good", Text: "Approved: " + strconv.Itoa(given) + " of " + strconv.Itoa(seen.Case.Hold.ApprovalsRequired) + " approvals."}
}

// approvedFlash describes the decision that followed an approval.
func approvedFlash(seen decisions.CaseView) show.Notice {
	hold := seen.Case.Hold
	for _, l := range seen.Case.Chain {
		if hold.ChildAuthorizationID == nil || l.ID != *hold.ChildAuthorizationID {
			continue
		}
		switch {
		case l.Decision == string(policy.Allow) && l.Proof != nil:
			return show.Notice{Tone: "good", Text: "Approved: allowed, proof issued."}
		case l.Decision == string(policy.Allow):
			return show.Notice{Tone: "good", Text: "Approved: allowed. No proof is issued in mode " + seen.Mode + "."}
		case l.Decision == string(policy.Deny):
			return show.Notice{Tone: "warn", Text: "Approved, but denied: the facts have changed (" + strings.Join(l.ReasonCodes, ", ") + ")."}
		default:
			return show.Notice{Tone: "warn", Text: "Approved: the follow-up decision is " + l.Decision + "."}
		}
	}
	return show.Notice{Tone: "good", Text: "Approved."}
}
