package console

import (
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/models"
)

// notice is the result of the user's last action.
type notice struct {
	Tone, Text string
}

// settled is the user's last review, on the page of the next hold.
type settled struct {
	notice
	Title, URL string // of the hold that was reviewed; empty if it is the open one
}

// settled says what became of the user's last review; nil if the URL names none. The URL only asks for it: what it says is read from the
// record.
func (c *console) settled(v *visit, lines []givenView) (*settled, error) {
	of := v.query("of")
	if of == "" || ofHold(lines, of) != nil { // which says more
		return nil, nil
	}
	seen, err := c.caseOf(v, of)
	if isAbsent(err) || err == nil && seen.Case.Hold == nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(seen.Reviews, func(r reviewLine) bool { return r.Who.Raw == v.principal().Actor() }) {
		return nil, nil
	}
	_, approvals, err := c.standing(v, seen.Case.Hold)
	if err != nil {
		return nil, err
	}
	out := &settled{notice: flash(seen, approvals.Given)}
	if of != v.param("id") {
		out.Title, out.URL = strings.TrimSpace(seen.Title()+" "+seen.Case.Outline.Amount), v.at("reviews", of)
	}
	return out, nil
}

// flash says what became of a review. given are the approvals that count.
func flash(seen caseView, given int) notice {
	switch seen.Case.Hold.Status {
	case models.HoldApproved:
		return approvedFlash(seen)
	case models.HoldRejected:
		return notice{"good", "Rejected: the request is denied."}
	case models.HoldExpired:
		return notice{"warn", "The hold has expired and was not approved."}
	}
	return notice{"good", "Approved: " + itoa(given) + " of " + itoa(seen.Case.Hold.ApprovalsRequired) + " approvals."}
}

// approvedFlash describes the decision that followed an approval.
func approvedFlash(seen caseView) notice {
	hold := seen.Case.Hold
	for _, l := range seen.Case.Chain {
		if hold.ChildAuthorizationID == nil || l.ID != *hold.ChildAuthorizationID {
			continue
		}
		switch {
		case l.Decision == string(policy.Allow) && l.Proof != nil:
			return notice{"good", "Approved: allowed, proof issued."}
		case l.Decision == string(policy.Allow):
			return notice{"good", "Approved: allowed. No proof is issued in mode " + seen.Mode + "."}
		case l.Decision == string(policy.Deny):
			return notice{"warn", "Approved, but denied: the facts have changed (" + strings.Join(l.ReasonCodes, ", ") + ")."}
		default:
			return notice{"warn", "Approved: the follow-up decision is " + l.Decision + "."}
		}
	}
	return notice{"good", "Approved."}
}
