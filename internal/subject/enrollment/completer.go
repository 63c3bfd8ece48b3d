package enrollment

import (
	"context"
	"errors"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/models"
)

// WorkflowResult is how the workflow run of an enrollment ended. Workflow histories contain it: fields are added, never renamed.
type WorkflowResult struct {
	Status string
}

// Workflow waits for the workflow runs of enrollments (workflows.Client).
type Workflow interface {
	AwaitEnrollment(ctx context.Context, in WorkflowInput) (WorkflowResult, error)
}

// Completer completes enrollments on request.
type Completer struct {
	enrollments *Service
	workflow    Workflow
}

// NewCompleter returns a Completer.
func NewCompleter(enrollments *Service, workflow Workflow) *Completer {
	return &Completer{enrollments: enrollments, workflow: workflow}
}

// Complete begins an enrollment, as Begin does, and waits for its workflow run to train the templates. If the run has not ended in time, the
// enrollment is returned pending: it is recorded, and the outbox starts its workflow.
func (c *Completer) Complete(ctx context.Context, p identity.Principal, subject, session string, force bool) (View, error) {
	v, err := c.enrollments.Begin(ctx, p, subject, session, force)
	if err != nil || v.Status != models.EnrollmentPending {
		return v, err
	}
	_, waited := c.workflow.AwaitEnrollment(ctx, WorkflowInput{Enrollment: v.ID, Environment: v.EnvironmentID})
	if v, err = c.enrollments.get(ctx, v); err != nil {
		return View{}, errors.Join(err, waited)
	}
	return v, nil
}
