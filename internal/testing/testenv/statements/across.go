package statements

import "maps"

// The reasons for which a statement runs over all environments. A distributed server asks each of its servers.
const (
	// A token is all that the caller has. The token of the previous version has no environment in it.
	byToken = "the caller has only a token, and the row that it finds names the environment"
	// The tasks of upkeep run in the background, a batch at a time.
	upkeep = "upkeep is done for all environments at once"
	// Commands are run by the operator of the service, who belongs to no tenant.
	operator = "the operator of the service looks at all environments"
)

// acrossEnvironments are the functions of package store whose statements run over all environments, each with its reason. No request of
// authorize, evidence, review or verify is among them.
var acrossEnvironments = map[string]string{
	"ClientTokens.ByMAC":     byToken,
	"Challenges.ByLink":      byToken,
	"RegistrationGrants.Get": byToken,

	"Challenges.Overdue":         upkeep,
	"Challenges.DropLinks":       upkeep,
	"ErasedTerms.Drop":           upkeep,
	"Changes.Overdue":            upkeep,
	"ClientTokens.Drop":          upkeep,
	"Deliveries.Drop":            upkeep,
	"Deliveries.DropAttempts":    upkeep,
	"Endpoints.Overdue":          upkeep,
	"Enrollments.Unfinished":     upkeep,
	"Erasures.Unfinished":        upkeep,
	"Evaluations.Overdue":        upkeep,
	"Holds.Overdue":              upkeep,
	"Idempotency.Drop":           upkeep,
	"Notices.Drop":               upkeep,
	"Recoveries.Overdue":         upkeep,
	"RegistrationGrants.Drop":    upkeep,
	"Research.DropPeriods":       upkeep,
	"Retention.Expire":           upkeep,
	"Sessions.ExpireIdle":        upkeep,
	"Audit.UnsealedEnvironments": "the sealer looks for environments with events to seal",
	"Templates.ByModelVersions":  "templates are trained anew after a change of a background that environments share",

	"Audit.After":    "one reader serves the event streams of all environments of a process",
	"Audit.Behind":   "a process seals the environments whose event streams it serves",
	"Learned.InUse":  "a process loads the backgrounds of all environments when it starts",
	"Learned.Sums":   "a shared background is learned from the sums of several environments",
	"Console.Queues": operator,

	"Decisions.ScopeOf":   operator,
	"Store.Distribute":    "it places the tables, by functions that only a distributed server has",
	"MasterKeys.SealedBy": operator,
	"Research.Counts":     operator,
	"Research.Vectors":    operator,
}

// AcrossEnvironments returns the reason of each function whose statements run over all environments.
func AcrossEnvironments() map[string]string { return maps.Clone(acrossEnvironments) }
