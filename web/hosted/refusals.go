package hosted

import "github.com/countersign-dev/countersign/internal/platform/problem"

// RefusalKey returns the key of the message for the user when a passkey is refused.
func RefusalKey(code problem.Code) string {
	switch code {
	case problem.AssertionUnknownKey, problem.AssertionUserHandle:
		return "refused.unknown_passkey"
	case problem.AssertionUnverified:
		return "refused.unverified"
	case problem.AssertionCloned:
		return "refused.copied"
	case problem.AssertionOrigin, problem.AssertionRPID:
		return "refused.site"
	case problem.MethodNotOffered:
		return "refused.method"
	default:
		return "refused.other"
	}
}
