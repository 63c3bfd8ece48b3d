package workflows

// Changes to workflow code while runs wait. A run replays its history under the code of the day, so a change in the order
// or kind of its commands needs a flag here: a named function over workflow.GetVersion, one a change, never renamed and
// never reordered. A flag is removed only once no run older than it is open and no recorded history needs it.
