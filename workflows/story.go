package workflows

import (
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/countersign-dev/countersign/activities"
	"github.com/countersign-dev/countersign/internal/authz/policy"
)

// What a run is about and what has happened in it, in words for whoever looks at it in the Temporal UI and has never seen
// this code. Words carry ids, keys, states and times, never what somebody wrote or is called; they are sealed like every
// payload.

// details explain each kind of run to its reader.
var details = map[string]string{
	NameChallenge: "**A step-up.** A decision asked the person to confirm this very action. The run waits until they complete it, the " +
		"relying party cancels it, or its time is up; exactly one of these happens. A completion assesses the person again and makes a " +
		"new decision, a child of the one that asked. The state is in the search attribute CountersignState: open, completed, cancelled, " +
		"expired or failed (after five refused assertions).",
	NameHold: "**A decision that waits for a reviewer.** The run waits until enough reviewers approve, one rejects, or its time is up; it " +
		"reminds at half time. Time never approves. An approval looks at the world again and makes a new decision, a child of the held " +
		"one, which may still be a denial. The state is in CountersignState: pending, partly_approved, approved, rejected or expired.",
	NameEvaluation: "**A trial of policies over real decisions.** The run closes the evaluation when its time ends or somebody closes it. " +
		"The report is counted then and kept; outcomes that come later do not change it. CountersignState: in_progress, passed or failed.",
	NameEnrollment: "**Learning a person's way of working.** The run trains the templates from the evidence of enrollment sessions. " +
		"CountersignState: pending, completed or failed (too little evidence).",
	NameRecovery: "**Starting over with a person.** Open challenges and proofs were voided and the templates retired when it began. The run " +
		"waits until the cool-down is over, and then for a new enrollment, or until the recovery expires. CountersignState: pending, " +
		"cooling_down, ready, completed or expired.",
	NameErasure: "**Removing everything held about a person.** The run ends the person's other runs and removes their histories, removes " +
		"the rows, waits longer than any request takes, and does both again. What remains is a receipt that names nobody. " +
		"CountersignState: erasing or completed.",
}

// steps name what an activity does.
var steps = map[string]string{
	activities.ChallengeComplete: "complete the challenge, assess the person again and decide again",
	activities.ChallengeCancel:   "cancel the challenge",
	activities.ChallengeExpire:   "look where the challenge stands; expire it if its time is up",
	activities.HoldReview:        "take the review in; decide again if it was the last approval wanted",
	activities.HoldRemind:        "remind the reviewers",
	activities.HoldExpire:        "look where the hold stands; expire it if its time is up",
	activities.EvaluationClose:   "count the decisions and close the evaluation",
	activities.EnrollmentTrain:   "train the templates",
	activities.RecoveryAdvance:   "look where the recovery stands; move it on if its time has come",
	activities.ErasureForget:     "end the person's runs and remove their histories",
	activities.ErasureSweep:      "remove a batch of rows",
	activities.ErasureFinish:     "erase the events' personal part and leave the receipt",
}

// step is what an activity does, in words.
func step(activity string) string {
	if words, ok := steps[activity]; ok {
		return words
	}
	return activity
}

// storyLength bounds the lines that a run keeps of its story.
const storyLength = 40

// story is what happened in a run so far, a line each.
type story struct{ lines []string }

// tell adds a line and shows the story as the run's current details. It leaves nothing in the history.
func (s *story) tell(ctx workflow.Context, format string, args ...any) {
	line := "- " + said(workflow.Now(ctx)) + " " + fmt.Sprintf(format, args...)
	if s.lines = append(s.lines, line); len(s.lines) > storyLength {
		s.lines = append(s.lines[:1:1], s.lines[2:]...) // how it began is kept
	}
	workflow.SetCurrentDetails(ctx, strings.Join(s.lines, "\n"))
}

// refused adds a line about a refusal.
func (s *story) refused(ctx workflow.Context, what string, err error) {
	if code, _, ok := activities.Refusal(err); ok {
		s.tell(ctx, "%s was refused: %s.", what, code)
	}
}

// said is a time as people read it.
func said(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 MST") }

// decidedAgain tells of the decision that followed.
func decidedAgain(decision policy.Effect, authorization string) string {
	return fmt.Sprintf("Decided again: **%s**, authorization %s.", decision, authorization)
}
