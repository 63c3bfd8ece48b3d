package reason

// Codes of sessions that have ended, emitted by internal/authz/assurance in the operator_continuity claim of a profile.
const (
	SessionEnded   Code = "session_ended"
	SessionExpired Code = "session_expired"
)

var sessionEntries = []Entry{
	{SessionEnded, KindSession, "The session has ended; its evidence no longer counts.", "Start a new session with the collector running, then authorize again."},
	{SessionExpired, KindSession, "The session expired after half an hour without activity; its evidence no longer counts.", "Start a new session with the collector running, then authorize again."},
}
