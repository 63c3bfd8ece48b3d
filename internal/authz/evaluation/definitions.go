package evaluation

// Definition says what one figure of a report means.
type Definition struct {
	Metric     string `json:"metric"` // its key in the report's metrics or checks
	Kind       string `json:"kind"`   // count, distribution, share, milliseconds, check or text
	Definition string `json:"definition"`
}

// Definitions are those of every metric and every check of a report; docs/evaluations.md has the same, and how the window is
// drawn. A test holds the list and the report equal.
func Definitions() []Definition {
	return []Definition{
		{"decisions", "count", "Every decision of the actions in the window, whatever the mode."},
		{"by_decision", "distribution", "The decisions by allow, challenge, hold and deny."},
		{"by_mode", "distribution", "The decisions by the action's mode when they were made."},
		{"coverage_distribution", "distribution", "The decisions by the coverage of their assurance profile."},
		{"outcomes", "distribution", "The decisions that have an outcome, by outcome."},
		{"experimental_operator_change_indicators", "count", "Decisions whose profile showed a change of operator. Experimental; in no check."},
		{"challenges", "count", "Decisions that were challenge."},
		{"outcome_coverage", "share", "Decisions with an outcome other than unknown, of all decisions; 0 without decisions."},
		{"decision_latency_ms", "milliseconds", "Quantiles of the time from the request to the decision, nearest rank; null without decisions."},
		{"note", "text", "What the counts cover."},
		{"abstention_rate", "share", "Decisions with insufficient_evidence, of all decisions; null without decisions."},
		{"false_challenge_proxy", "share", "Challenge decisions with the outcome false_challenge, of the challenge decisions that have an outcome; null where none has."},
		{"min_shadow_decisions", "check", "True where the decisions in mode shadow are at least the criterion."},
		{"min_outcome_coverage", "check", "True where outcome_coverage is at least the criterion."},
		{"max_abstention_rate", "check", "True where abstention_rate is there and at most the criterion."},
	}
}
