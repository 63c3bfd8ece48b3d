package reason

// Codes of sessions that are over, emitted by internal/authz/assurance in the operator_continuity claim of a profile.
const (
	SessionEnded   Code = "session_ended"
	SessionExpired Code = "session_expired"
)

var sessionEntries = []Entry{
	{SessionEnded, KindSession, "The session has ended; its evidence counts for nothing any more.", "Start a session and run the collector in it, then authorize again."},
	{SessionExpired, KindSession, "The session was without activity for half an hour and has expired; its evidence counts for nothing any more.", "Start a session and run the collector in it, then authorize again."},
}
