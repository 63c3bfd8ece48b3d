// Package activities adapts business steps to Temporal: one activity is one step is one transaction. An adapter turns a
// payload into a call of an internal service and the service's error into one that Temporal understands; it holds no
// rule, makes no query and starts no goroutine. Payloads carry ids, digests and decisions only: who asked and what they
// wrote is read from Postgres by the service. Activities run at least once, so every step is safe to repeat.
package activities

// Names under which the activities are registered. Histories refer to them: they are never renamed.
const (
	ChallengeComplete = "challenge.complete"
	ChallengeCancel   = "challenge.cancel"
	ChallengeExpire   = "challenge.expire"
	HoldReview        = "hold.review"
	HoldRemind        = "hold.remind"
	HoldExpire        = "hold.expire"
	EvaluationClose   = "evaluation.close"
)
