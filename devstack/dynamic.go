package main

import (
	"time"

	"go.temporal.io/server/common/dynamicconfig"
)

// unlimited is a rate that no development machine reaches, in requests per second.
const unlimited = 100_000

// dynamicConfig returns the settings in which a server for one developer differs from the defaults, which are made
// for a cluster shared by many.
func dynamicConfig() dynamicconfig.Client {
	settings := dynamicconfig.StaticClient{}
	set := func(s dynamicconfig.GenericSetting, value any) { settings[s.Key()] = value }

	// A search attribute or namespace registered while the server runs works at once.
	set(dynamicconfig.ForceSearchAttributesCacheRefreshOnRead, true)
	set(dynamicconfig.NamespaceCacheRefreshInterval, time.Second)

	// No request is refused for its rate: load tests measure the machine, not a limit.
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

	// Several callers may race on one workflow, which decides among them; the default refuses the eleventh.
	set(dynamicconfig.WorkflowExecutionMaxInFlightUpdates, 1000)

	// One host needs no task queue partitions, and a task never waits in one while a worker polls another.
	set(dynamicconfig.MatchingNumTaskqueueReadPartitions, 1)
	set(dynamicconfig.MatchingNumTaskqueueWritePartitions, 1)

	// Nothing is told to anybody outside this machine.
	set(dynamicconfig.EnableServerVersionCheck, false)
	return settings
}
