package reason

// Codes of the timing-based endpoints /enrol and /auth.
const (
	MatchTiming         Code = "match:timing"
	MismatchTiming      Code = "mismatch:timing"
	InsufficientSamples Code = "insufficient:samples"
)

var legacyEntries = []Entry{
	{MatchTiming, KindLegacy, "The timings match the enrolled template.", "None needed."},
	{MismatchTiming, KindLegacy, "The timings do not match the enrolled template.", "Request another sample or another factor; enroll again if the person's typing has changed."},
	{InsufficientSamples, KindLegacy, "The template has too few samples for a decision.", "Call /enrol until enrolled is true."},
}
