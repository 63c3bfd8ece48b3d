package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/countersign-dev/countersign/activities"
	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Challenge waits until the challenge is completed, cancelled or expired.
func Challenge(ctx workflow.Context, in challenge.WorkflowInput) (challenge.Outcome, error) {
	return challenges.run(ctx, in)
}

var challenges = recordKind[challenge.WorkflowInput, challenge.Outcome]{
	start: func(in challenge.WorkflowInput) startRequest {
		return startRequest{
			id: ChallengeID(in.Challenge), input: in, kind: NameChallenge, environment: in.Environment, action: in.Action, decision: "challenge",
			state: string(models.ChallengeOpen), summary: fmt.Sprintf("Step-up for %s, authorization %s", in.Action, in.Authorization), page: "decisions/" + in.Authorization,
		}
	},
	key: func(in challenge.WorkflowInput) (string, string) { return in.Challenge, in.Environment },
	updates: []recordUpdate{
		{UpdateComplete, activities.ChallengeComplete, "Complete the challenge by a verified request.", "The request"},
		{UpdateCancel, activities.ChallengeCancel, "Cancel the challenge.", "The request"},
	},
	lacks: func(m MoveRequest) string {
		if m.Request == "" {
			return "The request has no digest."
		}
		return ""
	},
	next: func(in challenge.WorkflowInput) deadline {
		return deadline{at: in.ExpiresAt, activity: activities.ChallengeExpire, timer: "the challenge expires"}
	},
	read: activities.ChallengeExpire,
	late: func(in challenge.WorkflowInput) (time.Time, problem.Code, string) {
		return in.ExpiresAt, problem.ChallengeExpired, "The challenge has expired."
	},
	closed: func(o challenge.Outcome, _ MoveRequest) error {
		if o.Status == models.ChallengeExpired {
			return activities.Refuse(problem.ChallengeExpired, "The challenge has expired.")
		}
		return activities.Refuse(problem.ChallengeClosed, fmt.Sprintf("The challenge is %s.", o.Status))
	},
	waits: func(in *challenge.WorkflowInput, o challenge.Outcome) bool {
		if o.Status != models.ChallengeOpen {
			return false
		}
		in.ExpiresAt = o.ExpiresAt
		return true
	},
	state: func(o challenge.Outcome) (string, policy.Effect) { return string(o.Status), o.Decision },
	opened: func(in challenge.WorkflowInput) string {
		return fmt.Sprintf("Opened by authorization %s on %s; expires at %s.", in.Authorization, in.Action, formatTime(in.ExpiresAt))
	},
	settled: func(o challenge.Outcome) string {
		switch o.Status {
		case models.ChallengeCompleted:
			return "Completed. " + followUpLine(o.Decision, o.Authorization)
		case models.ChallengeCancelled:
			return "Cancelled by the relying party, or because the user was recovered or erased."
		case models.ChallengeExpired:
			return "Expired: it was not completed in time."
		case models.ChallengeFailed:
			return "Failed: five assertions were refused."
		default:
			return fmt.Sprintf("The challenge is %s.", o.Status)
		}
	},
}
