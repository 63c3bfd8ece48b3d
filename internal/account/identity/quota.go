package identity

import (
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Default quotas of a key, in requests an hour.
const (
	SandboxQuota = 1000
	LiveQuota    = 10000
)

// operatorActor is the prefix of the actors of the countersign command line, which only the operator of the service runs.
// Principal.Actor never returns such a name, so no caller of the API can pass as the operator.
const operatorActor = "cli:"

func byOperator(actor string) bool { return strings.HasPrefix(actor, operatorActor) }

// Ceiling returns the highest quota, in requests an hour, that the environment's own admins may give a key. The operator may
// exceed it.
func Ceiling(env models.Environment) int {
	switch {
	case env.RateLimitCeiling != nil:
		return *env.RateLimitCeiling
	case env.Kind == models.Live:
		return LiveQuota
	default:
		return SandboxQuota
	}
}

// checkCeiling rejects a quota above the ceiling unless the operator sets it. A nil limit is the default quota.
func checkCeiling(limit *int, env models.Environment, actor string) error {
	ceiling := Ceiling(env)
	if limit == nil || *limit <= ceiling || byOperator(actor) {
		return nil
	}
	return problem.Invalid([]any{"body", "rate_limit"}, fmt.Sprintf(
		"rate_limit is %d; the ceiling of this environment is %d. The operator of the service can raise the ceiling.", *limit, ceiling), "rate_limit_ceiling")
}

// effectiveLimit returns the quota that applies to a credential, in requests an hour. A lowered ceiling applies to existing
// keys as well, except to those that the operator created.
func effectiveLimit(limit *int, createdBy string, env models.Environment) int {
	ceiling := Ceiling(env)
	switch {
	case limit == nil && env.Kind == models.Live:
		return min(LiveQuota, ceiling)
	case limit == nil:
		return min(SandboxQuota, ceiling)
	case byOperator(createdBy):
		return *limit
	default:
		return min(*limit, ceiling)
	}
}
