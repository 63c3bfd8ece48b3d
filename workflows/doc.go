// Package workflows holds the runs that wait: one file a workflow, each small and deterministic. A run owns the order of
// moves on one record (exactly one of complete, cancel and expire wins) and the durable timers; the moves themselves are
// activities, and what they decide is decided in internal services. Workflow code makes no I/O, reads no clock but the
// workflow's and keeps no secret: payloads carry ids, digests and decisions, and are encrypted on top of that (codec.go).
//
// To add a workflow: a file for it here, its names in names.go, its start in client.go's manner in its own file, its
// activities in package activities, one line in worker/register.go, and a recorded history under testdata/histories.
package workflows
