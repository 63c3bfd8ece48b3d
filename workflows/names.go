package workflows

import "go.temporal.io/sdk/temporal"

// Namespace is the default namespace. TaskQueue is the one queue of all workflows and activities.
const (
	Namespace = "countersign"
	TaskQueue = "countersign"
)

// Names under which the workflows are registered. Histories refer to them: never rename them.
const (
	NameChallenge  = "challenge"
	NameHold       = "hold"
	NameChange     = "change"
	NameEvaluation = "evaluation"
)

// Names of updates and signals. Clients of older versions send them: never rename them.
const (
	UpdateComplete = "complete" // of a challenge
	UpdateCancel   = "cancel"   // of a challenge
	UpdateReview   = "review"   // of a hold
	UpdateDecide   = "decide"   // of a change request
	UpdateClose    = "close"    // of an evaluation

	// SignalSettled reports that the record was settled outside the workflow, for example by a recovery that voids open
	// challenges.
	SignalSettled = "settled"
)

// A workflow id is the kind, a slash and the id of the record, so that each is found from the other.

// ChallengeID returns the workflow id of a challenge.
func ChallengeID(challenge string) string { return "challenge/" + challenge }

// HoldID returns the workflow id of a hold.
func HoldID(authorization string) string { return "hold/" + authorization }

// ChangeID returns the workflow id of a change request.
func ChangeID(change string) string { return "change/" + change }

// EvaluationID returns the workflow id of an evaluation.
func EvaluationID(evaluation string) string { return "evaluation/" + evaluation }

// Search attributes, all of type Keyword, by which auditors and operators find workflows. They are stored in the
// clear: ids, keys and states only.
var (
	AttributeKind        = temporal.NewSearchAttributeKeyKeyword("CountersignKind")
	AttributeEnvironment = temporal.NewSearchAttributeKeyKeyword("CountersignEnvironment")
	AttributeAction      = temporal.NewSearchAttributeKeyKeyword("CountersignAction")
	AttributeDecision    = temporal.NewSearchAttributeKeyKeyword("CountersignDecision")
	AttributeState       = temporal.NewSearchAttributeKeyKeyword("CountersignState")
)

// SearchAttributes returns the names of the search attributes that the namespace must have.
func SearchAttributes() []string {
	return []string{
		AttributeKind.GetName(), AttributeEnvironment.GetName(), AttributeAction.GetName(),
		AttributeDecision.GetName(), AttributeState.GetName(),
	}
}
