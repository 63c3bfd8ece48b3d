package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/countersign-dev/countersign/activities"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Change waits until the change request is approved, rejected or withdrawn, or expires. Time never approves.
func Change(ctx workflow.Context, in change.WorkflowInput) (change.Outcome, error) {
	return changes.run(ctx, in)
}

// changeStatus has the status that each resolution leads to.
var changeStatus = map[string]models.ChangeStatus{
	change.Approve: models.ChangeApproved, change.Reject: models.ChangeRejected, change.Withdraw: models.ChangeWithdrawn,
}

var changes = recordKind[change.WorkflowInput, change.Outcome]{
	start: func(in change.WorkflowInput) startRequest {
		return startRequest{
			id: ChangeID(in.Change), input: in, kind: NameChange, environment: in.Environment, action: in.Action, state: string(models.ChangePending),
			summary: fmt.Sprintf("%s waits for a second approver, change %s", in.Kind, in.Change), page: "changes/" + in.Change,
		}
	},
	key:     func(in change.WorkflowInput) (string, string) { return in.Change, in.Environment },
	updates: []recordUpdate{{UpdateDecide, activities.ChangeDecide, "Record the decision about the change.", "A decision"}},
	lacks: func(m MoveRequest) string {
		if m.Actor == "" || changeStatus[m.Resolution] == "" {
			return "The decision has no actor or no resolution."
		}
		return ""
	},
	next: func(in change.WorkflowInput) deadline {
		return deadline{at: in.ExpiresAt, activity: activities.ChangeExpire, timer: "the change expires"}
	},
	read: activities.ChangeExpire,
	late: func(in change.WorkflowInput) (time.Time, problem.Code, string) {
		return in.ExpiresAt, problem.ChangeExpired, "The change has expired."
	},
	closed: func(o change.Outcome, m MoveRequest) error {
		switch o.Status {
		case changeStatus[m.Resolution]:
			return nil
		case models.ChangeExpired:
			return activities.Refuse(problem.ChangeExpired, "The change has expired.")
		default:
			return activities.Refuse(problem.ChangeSettled, fmt.Sprintf("The change is %s.", o.Status))
		}
	},
	waits: func(in *change.WorkflowInput, o change.Outcome) bool {
		if o.Status != models.ChangePending {
			return false
		}
		in.ExpiresAt = o.ExpiresAt
		return true
	},
	state: func(o change.Outcome) (string, policy.Effect) { return string(o.Status), "" },
	opened: func(in change.WorkflowInput) string {
		return fmt.Sprintf("Change %s (%s) waits for a second approver until %s.", in.Change, in.Kind, formatTime(in.ExpiresAt))
	},
	settled: func(o change.Outcome) string {
		switch o.Status {
		case models.ChangeApproved:
			return "Approved by a second principal. The change is in force."
		case models.ChangeSuperseded:
			return "Approved, but what the change was requested against is no longer in force. Nothing was changed."
		case models.ChangeExpired:
			return "Expired: no one approved in time, and time never approves."
		default:
			return fmt.Sprintf("The change is %s. Nothing was changed.", o.Status)
		}
	},
}
