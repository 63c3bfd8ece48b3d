package reason

// Codes of sessions without evidence that counts, emitted by internal/authz/assurance in the operator_continuity claim of a profile.
const (
	SessionMissing Code = "session_missing"
	SessionEnded   Code = "session_ended"
	SessionExpired Code = "session_expired"
)

var sessionEntries = []Entry{
	{SessionMissing, KindSession, "The subject has no session: no evidence was collected.", "Start a session for the subject and run the collector in it."},
	{SessionEnded, KindSession, "The session has ended; its evidence no longer counts.", "Start a new session with the collector running, then authorize again."},
	{SessionExpired, KindSession, "The session expired after half an hour without activity; its evidence no longer counts.", "Start a new session with the collector running, then authorize again."},
}
