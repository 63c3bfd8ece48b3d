package workflows

import (
	"maps"
	"slices"

	"go.temporal.io/sdk/workflow"
)

// behaviors says which kinds of workflow runs move to another build of the worker during a rollout, if workers have builds. Those that end
// within minutes stay on the build that they began on, so that no change of the code reaches them. Those that may wait for days would
// keep workers of an old build running: they move, behind the flags of versions.go.
var behaviors = map[string]workflow.VersioningBehavior{
	NameChallenge:  workflow.VersioningBehaviorPinned,
	NameEnrollment: workflow.VersioningBehaviorPinned,
	NameAdaptation: workflow.VersioningBehaviorPinned,
	NameBackground: workflow.VersioningBehaviorPinned,
	NameHold:       workflow.VersioningBehaviorAutoUpgrade,
	NameChange:     workflow.VersioningBehaviorAutoUpgrade,
	NameEvaluation: workflow.VersioningBehaviorAutoUpgrade,
	NameRecovery:   workflow.VersioningBehaviorAutoUpgrade,
	NameErasure:    workflow.VersioningBehaviorAutoUpgrade,
	NameEndpoint:   workflow.VersioningBehaviorAutoUpgrade,
	NameUpkeep:     workflow.VersioningBehaviorAutoUpgrade,
}

// Behavior returns the behaviour of a kind of workflow run, and VersioningBehaviorUnspecified for an unknown one.
func Behavior(kind string) workflow.VersioningBehavior { return behaviors[kind] }

// Moving returns the kinds that move with a rollout, sorted.
func Moving() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(behaviors)), func(kind string) bool {
		return behaviors[kind] != workflow.VersioningBehaviorAutoUpgrade
	})
}
