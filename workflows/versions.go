package workflows

// Workflow code changes while workflows wait. A workflow replays its history under the code of the day, so every change in the
// order or kind of its commands needs a flag: a name in flags and a named function over workflow.GetVersion, from
// workflow.DefaultVersion to 1, never renamed and never reordered. Remove a flag only when no older workflow is open and no
// recorded history needs it. The histories under testdata/histories/v<n> were recorded by the code before flag n.

// flags are the names of the flags, as histories contain them, in the order in which they were added. Version 1.0 begins with none.
var flags []string

// Flags returns the flags that this code knows, as a workflow's search attribute TemporalChangeVersion names them. Code that lacks one
// may be unable to replay the histories that contain it.
func Flags() []string {
	all := make([]string, len(flags))
	for i, name := range flags {
		all[i] = name + "-1"
	}
	return all
}
