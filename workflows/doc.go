// Package workflows defines the durable workflows of the service, one file each, and the client that starts and updates them.
// A workflow orders the moves on one record (exactly one of complete, cancel and expire wins) and owns the durable timers. The
// moves themselves are activities, and internal services decide what they do.
//
// Workflow code must be deterministic: it makes no I/O, reads no clock but the workflow's, and contains no secret. Payloads
// carry ids, digests and decisions, and are encrypted on top of that (codec.go).
//
// To add a workflow: add a file for it, its names to names.go, its start to its own file as in client.go, its activities to
// package activities, one line to worker/register.go, and a recorded history under testdata/histories.
package workflows
