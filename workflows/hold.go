package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/countersign-dev/countersign/activities"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Hold waits until the hold is approved, rejected or expired, and reminds the reviewers in between. Time never approves.
func Hold(ctx workflow.Context, in hold.WorkflowInput) (hold.Outcome, error) {
	return holds.run(ctx, in)
}

// statePartlyApproved is the state attribute of a pending hold that has some of its approvals.
const statePartlyApproved = "partly_approved"

// holdStatus has the status that each resolution leads to.
var holdStatus = map[string]models.HoldStatus{hold.Approve: models.HoldApproved, hold.BreakGlass: models.HoldApproved, hold.Reject: models.HoldRejected}

var holds = recordKind[hold.WorkflowInput, hold.Outcome]{
	start: func(in hold.WorkflowInput) startRequest {
		return startRequest{
			id: HoldID(in.Authorization), input: in, kind: NameHold, environment: in.Environment, action: in.Action, decision: "hold", state: string(models.HoldPending),
			summary: fmt.Sprintf("%s waits for a reviewer, authorization %s", in.Action, in.Authorization), page: "decisions/" + in.Authorization,
		}
	},
	key:     func(in hold.WorkflowInput) (string, string) { return in.Authorization, in.Environment },
	updates: []recordUpdate{{UpdateReview, activities.HoldReview, "Record a reviewer's approval or rejection.", "A review"}},
	lacks: func(m MoveRequest) string {
		if m.Request == "" || holdStatus[m.Resolution] == "" {
			return "The review has no digest or no resolution."
		}
		return ""
	},
	next: func(in hold.WorkflowInput) deadline {
		next := deadline{at: in.DueAt, activity: activities.HoldExpire, timer: "the hold expires"}
		if !in.RemindAt.IsZero() && in.RemindAt.Before(next.at) {
			next = deadline{in.RemindAt, activities.HoldRemind, "the reviewers are reminded", "The reviewers were reminded at half time."}
		}
		if !in.EscalateAt.IsZero() && in.EscalateAt.Before(next.at) {
			next = deadline{in.EscalateAt, activities.HoldEscalate, "a second team may approve as well",
				"A team has not approved in time. A second team may approve as well; nothing is approved."}
		}
		return next
	},
	read: activities.HoldExpire,
	late: func(in hold.WorkflowInput) (time.Time, problem.Code, string) {
		return in.DueAt, problem.ReviewExpired, "The hold has expired."
	},
	closed: func(o hold.Outcome, m MoveRequest) error {
		switch o.Status {
		case holdStatus[m.Resolution]:
			return nil
		case models.HoldExpired:
			return activities.Refuse(problem.ReviewExpired, "The hold has expired.")
		default:
			return activities.Refuse(problem.ReviewResolved, fmt.Sprintf("The hold is %s.", o.Status))
		}
	},
	waits: func(in *hold.WorkflowInput, o hold.Outcome) bool {
		if o.Status != models.HoldPending {
			return false
		}
		in.RemindAt, in.DueAt, in.EscalateAt = o.RemindAt, o.DueAt, o.EscalateAt
		return true
	},
	state: func(o hold.Outcome) (string, policy.Effect) { return string(o.Status), o.Decision },
	opened: func(in hold.WorkflowInput) string {
		return fmt.Sprintf("Authorization %s on %s is held. Reviewers have until %s.", in.Authorization, in.Action, formatTime(in.DueAt))
	},
	moved: func(o hold.Outcome) (string, string) {
		return statePartlyApproved, fmt.Sprintf("Approved by %d of %d reviewers.", o.Approvals, o.Required)
	},
	settled: func(o hold.Outcome) string {
		switch o.Status {
		case models.HoldApproved:
			if o.BreakGlass {
				return "Approved by one person alone (break-glass). Others review it afterwards. " + followUpLine(o.Decision, o.Authorization)
			}
			return "Approved by as many reviewers as the policy requires. " + followUpLine(o.Decision, o.Authorization)
		case models.HoldRejected:
			return "Rejected by a reviewer. The authorization has the outcome manually_rejected."
		case models.HoldExpired:
			return "Expired: not enough reviewers approved in time, and time never approves."
		case models.HoldWithdrawn:
			return "Withdrawn by the relying party: nothing was approved, and no outcome is recorded."
		default:
			return fmt.Sprintf("The hold is %s.", o.Status)
		}
	},
}
