package durable

import "time"

// Poller is a process that asks the workflow engine for tasks.
type Poller struct {
	Identity string
	Kind     string // of the tasks: workflow or activity
	LastSeen time.Time
}
