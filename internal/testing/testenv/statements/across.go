package statements

import "maps"

// The reasons for which a statement runs over all environments. A distributed server asks each of its servers.
const (
	// A token is all that the caller has.
	byToken = "the caller has only a token, and the row that it finds names the environment"
	// The tasks of upkeep run in the background, a batch at a time.
	upkeep = "upkeep is done for all environments at once"
	// Commands are run by the operator of the service, who belongs to no tenant.
	operator = "the operator of the service looks at all environments"
)

// placing is the function that calls those of the extension, which it may find missing.
const placing = "pg.Store.Distribute"

// acrossEnvironments are the functions whose statements run over all environments, each with its reason. No request of
// authorize, evidence, review or verify is among them.
var acrossEnvironments = map[string]string{
	"identity.clientTokenByMAC":    byToken,
	"challenge.challengeByLink":    byToken,
	"passkey.getRegistrationGrant": byToken,
	"standing.linkByMAC":           byToken,

	"afterreview.OverdueAfterReviews":    upkeep,
	"standing.overIn":                    upkeep,
	"standing.DropLinks":                 upkeep,
	"standing.reviewed":                  upkeep,
	"challenge.OverdueChallenges":        upkeep,
	"aggregate.DropLocks":                upkeep,
	"challenge.DropLinks":                upkeep,
	"lists.withExpired":                  upkeep,
	"subject.DropErasedTerms":            upkeep,
	"pg.DropEndings":                     upkeep,
	"change.OverdueChanges":              upkeep,
	"identity.DropClientTokens":          upkeep,
	"upkeep.dropDeliveries":              upkeep,
	"upkeep.dropAttempts":                upkeep,
	"webhook.overdueEndpoints":           upkeep,
	"enrollment.HasUnfinishedEnrollment": upkeep,
	"subject.UnfinishedErasures":         upkeep,
	"evaluation.OverdueEvaluations":      upkeep,
	"hold.OverdueHolds":                  upkeep,
	"idempotency.Drop":                   upkeep,
	"upkeep.dropNotices":                 upkeep,
	"recovery.OverdueRecoveries":         upkeep,
	"passkey.DropGrants":                 upkeep,
	"upkeep.expireRows":                  upkeep,
	"session.ExpireIdle":                 upkeep,
	"audit.unsealedEnvironments":         "the sealer looks for environments with events to seal",
	"template.templatesByModelVersions":  "templates are trained anew after a change of a background that environments share",

	"destination.claimDue":     "a process sends to the destinations of all environments",
	"audit.EntriesAfter":       "one reader serves the event streams of all environments of a process",
	"audit.environmentsBehind": "a process seals the environments whose event streams it serves",
	"backgrounds.InUse":        "a process loads the backgrounds of all environments when it starts",
	"backgrounds.Sums":         "a shared background is learned from the sums of several environments",
	"consolequery.QueryQueues": operator,

	"authorization.ScopeOfDecision": operator,
	placing:                         "it places the tables, by functions that only a distributed server has",
	"lists.lockPersonal":            operator,
	"masterkey.sealedBy":            operator,
	"masterkey.aliasesBefore":       operator,
	"pg.RenewMACs":                  operator,
	"pg.RenewLargeMACs":             operator,
	"pg.FinishBridge":               operator,
	"subject.NameRecoveries":        operator,
	"research.countVectors":         operator,
	"research.ListVectors":          operator,
}

// AcrossEnvironments returns the reason of each function whose statements run over all environments.
func AcrossEnvironments() map[string]string { return maps.Clone(acrossEnvironments) }
