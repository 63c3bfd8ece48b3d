package workflows

import "go.temporal.io/sdk/workflow"

// Changes to workflow code while runs wait. A run replays its history under the code of the day, so a change in the order
// or kind of its commands needs a flag here: a named function over workflow.GetVersion, one a change, never renamed and
// never reordered. A flag is removed only once no run older than it is open and no recorded history needs it. The
// histories under testdata/histories/v<n> were recorded by the code as it was before flag n+1.

// showsPartialApprovals (the code from v2 on) reports whether a hold that has some of its approvals says so in its state
// attribute. A hold that took an approval in before keeps quiet about it to its end.
func showsPartialApprovals(ctx workflow.Context) bool {
	return workflow.GetVersion(ctx, "hold-partial-approvals", workflow.DefaultVersion, 1) == 1
}
