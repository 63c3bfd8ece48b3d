package workflows_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"

	"github.com/countersign-dev/countersign/worker"
	"github.com/countersign-dev/countersign/workflows"
)

// A worker with a build cannot register a workflow that does not say whether it moves.
func TestEveryWorkflowSaysWhetherItMoves(t *testing.T) {
	t.Parallel()
	var names registered
	worker.RegisterWorkflows(&names)
	for _, name := range names {
		require.NotEqual(t, workflow.VersioningBehaviorUnspecified, workflows.Behavior(name), name)
	}
	require.Contains(t, workflows.Moving(), workflows.NameHold)
	require.NotContains(t, workflows.Moving(), workflows.NameChallenge)
}

// A rollback compares the flags of two builds, so that one which is missing in the list would send a workflow to code that cannot
// replay it.
func TestEveryFlagIsListed(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	calls := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		calls += len(regexp.MustCompile(`workflow\.GetVersion\(ctx`).FindAll(text, -1))
	}
	require.Len(t, workflows.Flags(), calls)
}
