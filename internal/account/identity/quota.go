package identity

import (
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Quotas, requests an hour (SPEC section 8).
const (
	SandboxQuota = 1000
	LiveQuota    = 10000
)

// operatorActor begins the names of the operator's actors: the commands of countersign. No caller of the API is named so.
const operatorActor = "cli:"

func byOperator(actor string) bool { return strings.HasPrefix(actor, operatorActor) }

// Ceiling is the most requests an hour that a key of the environment may be given but by the operator.
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

// checkCeiling refuses a quota beyond the ceiling, unless the operator gives it.
func checkCeiling(limit *int, env models.Environment, actor string) error {
	ceiling := Ceiling(env)
	if limit == nil || *limit <= ceiling || byOperator(actor) {
		return nil
	}
	return problem.Invalid([]any{"body", "rate_limit"}, fmt.Sprintf(
		"rate_limit is %d and may be %d in this environment. The operator of the service can raise its ceiling.", *limit, ceiling), "rate_limit_ceiling")
}

// quota is what a credential has, in requests an hour. A ceiling that was lowered holds for the keys that there are, but for those
// that the operator made.
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
