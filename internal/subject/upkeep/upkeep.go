// Package upkeep is the work that recurs whether or not anybody asks: what is overdue is settled, what is idle expires, keys
// rotate, data past its retention goes. Each task does one batch in short transactions and says whether there is more; when
// it runs is the schedule's business (package workflows). The package makes no move of its own where a service has one.
package upkeep

import (
	"context"
	"fmt"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// Task is one kind of work that recurs.
type Task struct {
	Name  string        // part of the schedule's id; never renamed
	Every time.Duration // how often it is done
	About string        // one sentence for operators
	// Do does one batch as of at, on behalf of by (a workflow's id), and reports how much it did and whether there may be
	// more. It is safe to repeat.
	Do func(ctx context.Context, at time.Time, by string) (done int, more bool, err error)
}

// Service does tasks by name.
type Service struct {
	tasks []Task
}

// New makes a service of the tasks; a name that is given twice is a mistake of the caller.
func New(tasks ...Task) (*Service, error) {
	seen := map[string]bool{}
	for _, t := range tasks {
		if seen[t.Name] || t.Name == "" || t.Every <= 0 || t.Do == nil {
			return nil, fmt.Errorf("upkeep: task %q is given twice or incomplete", t.Name)
		}
		seen[t.Name] = true
	}
	return &Service{tasks: tasks}, nil
}

// Tasks are the tasks there are.
func (s *Service) Tasks() []Task { return s.tasks }

// Run does one batch of a task. A task that this version does not know is refused for good: its schedule is of another one.
func (s *Service) Run(ctx context.Context, name string, at time.Time, by string) (done int, more bool, err error) {
	for _, t := range s.tasks {
		if t.Name == name {
			return t.Do(ctx, at, by)
		}
	}
	return 0, false, problem.Newf(problem.NotFound, "There is no task %q in this version.", name)
}
