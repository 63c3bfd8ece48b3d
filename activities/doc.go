// Package activities adapts the services to Temporal: an activity is one step, and a step is one transaction. An adapter turns
// a payload into a call of an internal service, and the service's error into one that Temporal understands. It contains no
// rule, makes no query and starts no goroutine.
//
// Payloads carry ids, digests and decisions only; the service reads from Postgres who made a request and what it said. An
// activity runs at least once, so every step must be safe to repeat.
package activities

// Registered names of the activities. Histories refer to them: never rename them.
const (
	ChallengeComplete = "challenge.complete"
	ChallengeCancel   = "challenge.cancel"
	ChallengeExpire   = "challenge.expire"
	HoldReview        = "hold.review"
	HoldRemind        = "hold.remind"
	HoldExpire        = "hold.expire"
	HoldEscalate      = "hold.escalate"
	ChangeDecide      = "change.decide"
	ChangeExpire      = "change.expire"
	EvaluationClose   = "evaluation.close"
)
