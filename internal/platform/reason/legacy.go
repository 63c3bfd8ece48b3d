package reason

// Codes of the timing-based endpoints /enrol and /auth.
const (
	MatchTiming         Code = "match:timing"
	MismatchTiming      Code = "mismatch:timing"
	InsufficientSamples Code = "insufficient:samples"
)

var legacyEntries = []Entry{
	{MatchTiming, KindLegacy, "The timings agree with the enrolled template.", "Nothing to mend."},
	{MismatchTiming, KindLegacy, "The timings do not agree with the enrolled template.", "Ask for another sample or another factor; enrol again if the person's way of typing has changed."},
	{InsufficientSamples, KindLegacy, "The template has too few samples to decide by.", "Call /enrol until enrolled is true."},
}
