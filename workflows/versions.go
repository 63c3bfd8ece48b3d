package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"
)

// Workflow code changes while workflows wait. A workflow replays its history under the code of the day, so every change in the
// order or kind of its commands needs a flag here: a named function over workflow.GetVersion, one per change, never renamed and
// never reordered. Remove a flag only when no older workflow is open and no recorded history needs it. The histories under
// testdata/histories/v<n> were recorded by the code before flag n+1.

// Names of the flags, as histories contain them.
const (
	flagPartialApprovals = "hold-partial-approvals"
	flagEscalations      = "hold-escalations"
)

// Flags returns the flags that this code knows, as a workflow's search attribute TemporalChangeVersion names them. Code that lacks one
// may be unable to replay the histories that contain it.
func Flags() []string {
	var all []string
	for _, name := range []string{flagPartialApprovals, flagEscalations} {
		all = append(all, fmt.Sprintf("%s-%d", name, 1))
	}
	return all
}

// flag reports whether a workflow run follows the code behind the flag.
func flag(ctx workflow.Context, name string) bool {
	return workflow.GetVersion(ctx, name, workflow.DefaultVersion, 1) == 1
}

// showsPartialApprovals (since v2) reports whether a hold with some of its approvals shows that in its state attribute. A hold
// that recorded an approval under older code does not, until its end.
func showsPartialApprovals(ctx workflow.Context) bool { return flag(ctx, flagPartialApprovals) }

// escalatesHolds (since v3) reports whether a hold waits for its escalations. One that older code waited for until a later deadline
// does not record them; the second team may approve nevertheless.
func escalatesHolds(ctx workflow.Context) bool { return flag(ctx, flagEscalations) }
