package reason

// evidenceEntries are the codes of evidence acknowledgements, assurance profiles and claims. internal/scoring and the
// services around it emit them; a test holds this list and scoring's own equal.
var evidenceEntries = []Entry{
	{CappedAfterRecovery, KindAssurance, "The subject recovered without an anchor lately, so claims are capped at likely for a while.", "Wait until the cap ends, or recover with an anchor such as a passkey."},
}

// CappedAfterRecovery is emitted by the assessment of a subject whose recovery had anchor none.
const CappedAfterRecovery Code = "capped_after_recovery"
