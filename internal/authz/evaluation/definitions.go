package evaluation

// Definition defines one metric or check of a report.
type Definition struct {
	Metric     string `json:"metric"` // its key in the report's metrics or checks
	Kind       string `json:"kind"`   // count, distribution, share, milliseconds, check or text
	Definition string `json:"definition"`
}

// Definitions returns the definition of every metric and check of a report. docs/trying-policies.md contains the same, with the
// rules of the window; a test compares the list with the report.
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
		{"false_challenge_proxy", "share", "Challenge decisions with the outcome false_challenge, of the challenge decisions that have an outcome; null if none has."},
		{"min_shadow_decisions", "check", "True if the decisions in mode shadow are at least the criterion."},
		{"min_outcome_coverage", "check", "True if outcome_coverage is at least the criterion."},
		{"max_abstention_rate", "check", "True if abstention_rate is not null and at most the criterion."},
	}
}
