package console

import (
	"strings"

	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/models"
)

// notice is the result of the user's last action.
type notice struct {
	Tone, Text string
}

// flash says what became of the user's last review. The words after "done" in the URL only ask for it: what it says is read
// from the record. given are the approvals that count.
func (v *visit) flash(seen caseView, given int) *notice {
	done := v.query("done")
	if seen.Case.Hold == nil || (done != "resolved" && done != "counted" && done != "accepted") {
		return nil
	}
	switch seen.Case.Hold.Status {
	case models.HoldApproved:
		return approvedFlash(seen)
	case models.HoldRejected:
		return &notice{"good", "Rejected: the request is denied."}
	case models.HoldExpired:
		return &notice{"warn", "The hold has expired and was not approved."}
	}
	if done == "accepted" {
		return &notice{"good", "Your review is accepted and being processed. This page shows the result."}
	}
	return &notice{"good", "Approved: " + itoa(given) + " of " + itoa(seen.Case.Hold.ApprovalsRequired) + " approvals."}
}

// approvedFlash describes the decision that followed an approval.
func approvedFlash(seen caseView) *notice {
	hold := seen.Case.Hold
	for _, l := range seen.Case.Chain {
		if hold.ChildAuthorizationID == nil || l.ID != *hold.ChildAuthorizationID {
			continue
		}
		switch {
		case l.Decision == string(policy.Allow) && l.Proof:
			return &notice{"good", "Approved: allowed, proof issued."}
		case l.Decision == string(policy.Allow):
			return &notice{"good", "Approved: allowed. No proof is issued in mode " + seen.Mode + "."}
		case l.Decision == string(policy.Deny):
			return &notice{"warn", "Approved, but denied: the facts have changed (" + strings.Join(l.ReasonCodes, ", ") + ")."}
		default:
			return &notice{"warn", "Approved: the follow-up decision is " + l.Decision + "."}
		}
	}
	return &notice{"good", "Approved."}
}
