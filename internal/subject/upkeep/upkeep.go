// Package upkeep runs the recurring maintenance tasks: it settles what is overdue, expires what is idle, rotates keys and
// deletes data past its retention.
//
// Most tasks repair what a workflow should have done. Workflows do the work on time; a task does it later if the workflow was
// lost, for example after a restore of Temporal's database.
//
// A task processes one batch in short transactions and reports whether there is more; package workflows schedules the tasks. The
// package changes no state that a service of another package can change: it calls the service.
package upkeep

import (
	"context"
	"fmt"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// Task is a recurring maintenance task.
type Task struct {
	Name  string        // part of the schedule's id; must not be renamed
	Every time.Duration // interval of the schedule
	About string        // description for operators, one sentence
	// Do processes one batch as of the time at, on behalf of the workflow with the id by. It returns how many items it
	// processed and whether there may be more. It must be safe to repeat.
	Do func(ctx context.Context, at time.Time, by string) (done int, more bool, err error)
}

// Service runs tasks by name.
type Service struct {
	tasks []Task
}

// New returns a service with the tasks. It returns an error for a task that is incomplete or whose name is not unique.
func New(tasks ...Task) (*Service, error) {
	seen := map[string]bool{}
	for _, t := range tasks {
		if seen[t.Name] || t.Name == "" || t.Every <= 0 || t.Do == nil {
			return nil, fmt.Errorf("upkeep: task %q is duplicate or incomplete", t.Name)
		}
		seen[t.Name] = true
	}
	return &Service{tasks: tasks}, nil
}

// Tasks returns all tasks.
func (s *Service) Tasks() []Task { return s.tasks }

// Run runs one batch of a task. For an unknown name it returns the problem not_found, which is not retried: the schedule
// belongs to a different version of the service.
func (s *Service) Run(ctx context.Context, name string, at time.Time, by string) (done int, more bool, err error) {
	for _, t := range s.tasks {
		if t.Name == name {
			return t.Do(ctx, at, by)
		}
	}
	return 0, false, problem.Newf(problem.NotFound, "There is no task %q in this version.", name)
}
