package main

import (
	"time"

	"go.temporal.io/server/common/dynamicconfig"
)

// unlimited is a rate that no development machine reaches, in requests per second.
const unlimited = 100_000

// dynamicConfig returns the settings in which a server for one developer differs from the defaults, which suit a
// shared cluster.
func dynamicConfig() dynamicconfig.Client {
	settings := dynamicconfig.StaticClient{}
	set := func(s dynamicconfig.GenericSetting, value any) { settings[s.Key()] = value }

	// A search attribute or namespace registered while the server runs is usable immediately.
	set(dynamicconfig.ForceSearchAttributesCacheRefreshOnRead, true)
	set(dynamicconfig.NamespaceCacheRefreshInterval, time.Second)

	// No request is rejected for its rate: load tests measure the machine, not a limit.
	for _, s := range []dynamicconfig.GenericSetting{
		dynamicconfig.FrontendRPS,
		dynamicconfig.FrontendMaxNamespaceRPSPerInstance,
		dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance,
		dynamicconfig.FrontendMaxNamespaceNamespaceReplicationInducingAPIsRPSPerInstance,
		dynamicconfig.FrontendMaxConcurrentLongRunningRequestsPerInstance,
		dynamicconfig.FrontendPersistenceMaxQPS,
		dynamicconfig.HistoryRPS,
		dynamicconfig.HistoryPersistenceMaxQPS,
		dynamicconfig.MatchingRPS,
		dynamicconfig.MatchingPersistenceMaxQPS,
		dynamicconfig.VisibilityPersistenceMaxReadQPS,
		dynamicconfig.VisibilityPersistenceMaxWriteQPS,
	} {
		set(s, unlimited)
	}

	// Several callers may update one workflow concurrently; the default limit rejects the eleventh update.
	set(dynamicconfig.WorkflowExecutionMaxInFlightUpdates, 1000)

	// One host needs a single partition per task queue. With more, a task could wait in one while a worker polls another.
	set(dynamicconfig.MatchingNumTaskqueueReadPartitions, 1)
	set(dynamicconfig.MatchingNumTaskqueueWritePartitions, 1)

	// A worker that stops is handed no further task. Otherwise a task that is on its way to it is lost until it times out.
	set(dynamicconfig.EnableCancelWorkerPollsOnShutdown, true)

	// The server makes no requests to hosts outside this machine.
	set(dynamicconfig.EnableServerVersionCheck, false)
	return settings
}
