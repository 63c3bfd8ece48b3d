package workflows

import (
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/countersign-dev/countersign/activities"
	"github.com/countersign-dev/countersign/internal/authz/policy"
)

// The texts that the Temporal UI shows with a workflow run, for readers who have never seen this code. They contain ids,
// keys, states and times, and never text that a user wrote or a name. They are encrypted like every payload.

// details explain each kind of workflow.
var details = map[string]string{
	NameChallenge: "**A step-up.** A decision asked the user to confirm this action. The workflow waits until they complete the challenge, " +
		"the relying party cancels it, or it expires; exactly one of these happens. A completion assesses the user again and makes a " +
		"follow-up decision. The search attribute CountersignState is open, completed, cancelled, expired or failed (after five refused " +
		"assertions).",
	NameHold: "**A decision that waits for a reviewer.** The workflow waits until enough reviewers approve, one rejects, or the hold expires. " +
		"It reminds the reviewers at half time. Time never approves. An approval makes a follow-up decision from the state at that " +
		"moment, which may still be a denial. CountersignState is pending, partly_approved, approved, rejected or expired.",
	NameChange: "**A change of the configuration that waits for a second approver.** The workflow waits until a principal other than the " +
		"requester approves or rejects, the requester withdraws, or the change expires. Time never approves. An approval makes the " +
		"change only if what it was requested against is still in force. CountersignState is pending, approved, rejected, withdrawn, " +
		"superseded or expired.",
	NameEvaluation: "**An evaluation of policies over real decisions.** The workflow closes the evaluation at its end or on request. It counts " +
		"the report at that moment; outcomes reported later do not change it. CountersignState is in_progress, passed or failed.",
	NameEnrollment: "**The training of a user's templates.** The workflow trains the templates from the evidence of enrollment sessions. " +
		"CountersignState is pending, completed or failed (too little evidence).",
	NameRecovery: "**The recovery of a user.** Open challenges and proofs were voided and the templates retired when it began. The workflow " +
		"waits for the end of the cool-down, and then for a new enrollment or until the recovery expires. CountersignState is pending, " +
		"cooling_down, ready, completed or expired.",
	NameErasure: "**The erasure of everything stored about a user.** The workflow ends the user's other workflows and removes their " +
		"histories and rows, waits longer than any request takes, and does both again. Only a receipt without personal data remains. " +
		"CountersignState is erasing or completed.",
}

// stepSummaries describe each activity.
var stepSummaries = map[string]string{
	activities.ChallengeComplete: "complete the challenge and make the follow-up decision",
	activities.ChallengeCancel:   "cancel the challenge",
	activities.ChallengeExpire:   "read the challenge; expire it if it is due",
	activities.HoldReview:        "record the review; make the follow-up decision if it was the last approval required",
	activities.HoldRemind:        "remind the reviewers",
	activities.HoldEscalate:      "let a second team approve as well",
	activities.HoldExpire:        "read the hold; expire it if it is due",
	activities.ChangeDecide:      "settle the change; make it if it is approved",
	activities.ChangeExpire:      "read the change; expire it if it is due",
	activities.EvaluationClose:   "count the decisions and close the evaluation",
	activities.EnrollmentTrain:   "train the templates",
	activities.RecoveryAdvance:   "read the recovery; advance it if it is due",
	activities.ErasureForget:     "end the user's workflows and remove their histories",
	activities.ErasureSweep:      "remove a batch of rows",
	activities.ErasureFinish:     "erase the personal part of the events and write the receipt",
}

// stepSummary describes an activity; one without a text is described by its name.
func stepSummary(activity string) string {
	if words, ok := stepSummaries[activity]; ok {
		return words
	}
	return activity
}

// timelineLength is the maximum number of lines of a timeline.
const timelineLength = 40

// record adds a line and shows the timeline as the current details of the workflow run. It adds no event to the history.
type timeline struct{ lines []string }

// record adds a line and shows the timeline as the current details of the workflow run. It adds no event to the history.
func (s *timeline) record(ctx workflow.Context, format string, args ...any) {
	line := "- " + formatTime(workflow.Now(ctx)) + " " + fmt.Sprintf(format, args...)
	if s.lines = append(s.lines, line); len(s.lines) > timelineLength {
		s.lines = append(s.lines[:1:1], s.lines[2:]...) // the first line stays
	}
	workflow.SetCurrentDetails(ctx, strings.Join(s.lines, "\n"))
}

// recordRefusal adds a line if err is a refusal.
func (s *timeline) recordRefusal(ctx workflow.Context, what string, err error) {
	if code, _, ok := activities.Refusal(err); ok {
		s.record(ctx, "%s was refused: %s.", what, code)
	}
}

// formatTime formats a time for the timeline, in UTC.
func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 MST") }

func followUpLine(decision policy.Effect, authorization string) string {
	return fmt.Sprintf("Follow-up decision: **%s**, authorization %s.", decision, authorization)
}
