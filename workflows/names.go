package workflows

import "go.temporal.io/sdk/temporal"

// Namespace and TaskQueue are where everything runs.
const (
	Namespace = "countersign"
	TaskQueue = "countersign"
)

// Names under which the workflows are registered. Histories refer to them: they are never renamed.
const (
	NameChallenge  = "challenge"
	NameHold       = "hold"
	NameEvaluation = "evaluation"
)

// Names of updates and signals. Clients of older versions send them: they are never renamed.
const (
	UpdateComplete = "complete" // of a challenge
	UpdateCancel   = "cancel"   // of a challenge
	UpdateReview   = "review"   // of a hold
	UpdateClose    = "close"    // of an evaluation

	// SignalSettled tells a run that its record was settled past it, e.g. by a recovery that voids open challenges.
	SignalSettled = "settled"
)

// Ids of runs: the kind and the id of the record, so that a run is found from its record and the other way round.

// ChallengeID is the id of the run of a challenge.
func ChallengeID(challenge string) string { return "challenge/" + challenge }

// HoldID is the id of the run of a hold.
func HoldID(authorization string) string { return "hold/" + authorization }

// EvaluationID is the id of the run of an evaluation.
func EvaluationID(evaluation string) string { return "evaluation/" + evaluation }

// Search attributes, all of type Keyword, by which auditors and operators find runs. They are stored in the clear: ids,
// keys and states only.
var (
	AttributeKind        = temporal.NewSearchAttributeKeyKeyword("CountersignKind")
	AttributeEnvironment = temporal.NewSearchAttributeKeyKeyword("CountersignEnvironment")
	AttributeAction      = temporal.NewSearchAttributeKeyKeyword("CountersignAction")
	AttributeDecision    = temporal.NewSearchAttributeKeyKeyword("CountersignDecision")
	AttributeState       = temporal.NewSearchAttributeKeyKeyword("CountersignState")
)

// SearchAttributes are the names of the search attributes a namespace needs.
func SearchAttributes() []string {
	return []string{
		AttributeKind.GetName(), AttributeEnvironment.GetName(), AttributeAction.GetName(),
		AttributeDecision.GetName(), AttributeState.GetName(),
	}
}
