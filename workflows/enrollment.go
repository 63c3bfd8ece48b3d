package workflows

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/countersign-dev/countersign/activities"
	"github.com/countersign-dev/countersign/internal/subject/enrollment"
	"github.com/countersign-dev/countersign/models"
)

// NameEnrollment and UpdateAwait are registered names. Histories refer to them: never rename them.
const (
	NameEnrollment = "enrollment"
	UpdateAwait    = "await"
)

// EnrollmentID returns the workflow id of an enrollment.
func EnrollmentID(id string) string { return NameEnrollment + "/" + id }

// EnrollmentInput is the input of the workflow of an enrollment. Histories contain it: fields are added, never renamed.
type EnrollmentInput struct {
	Enrollment  string
	Environment string
}

// EnrollmentAwait is the argument of the update await, which returns when the enrollment has ended.
type EnrollmentAwait struct{}

// Enrollment trains the templates of one enrollment. The request that completed the enrollment waits with the update await;
// the workflow does not depend on it.
func Enrollment(ctx workflow.Context, in EnrollmentInput) (enrollment.WorkflowResult, error) {
	r := &enrollmentRun{in: in}
	err := workflow.SetUpdateHandlerWithOptions(ctx, UpdateAwait, r.await, workflow.UpdateHandlerOptions{
		Description: "Wait until the enrollment is settled.",
	})
	if err != nil {
		return enrollment.WorkflowResult{}, err
	}
	r.record(ctx, "Enrollment %s: the templates are being trained.", in.Enrollment)
	return r.run(ctx)
}

// enrollmentRun is the state of one workflow run.
type enrollmentRun struct {
	timeline
	in      EnrollmentInput
	settled *enrollment.WorkflowResult
}

// await is the handler of the update await.
func (r *enrollmentRun) await(ctx workflow.Context, _ EnrollmentAwait) (enrollment.WorkflowResult, error) {
	if err := workflow.Await(ctx, func() bool { return r.settled != nil }); err != nil {
		return enrollment.WorkflowResult{}, err
	}
	return *r.settled, nil
}

// run trains the templates, retrying until the activity returns.
func (r *enrollmentRun) run(ctx workflow.Context) (enrollment.WorkflowResult, error) {
	standing, err := retryStep[activities.EnrollmentStanding](ctx, func(ctx workflow.Context, at time.Time) workflow.Future {
		return workflow.ExecuteActivity(slowStep(ctx, stepSummary(activities.EnrollmentTrain)), activities.EnrollmentTrain,
			activities.EnrollmentStep{Enrollment: r.in.Enrollment, Environment: r.in.Environment, At: at})
	})
	if err != nil {
		return enrollment.WorkflowResult{}, err
	}
	r.settled = &enrollment.WorkflowResult{Status: standing.Status}
	r.record(ctx, "The enrollment is %s.", standing.Status)
	if err := upsertState(ctx, standing.Status, ""); err != nil {
		return enrollment.WorkflowResult{}, err
	}
	return *r.settled, finish(ctx)
}

func (in EnrollmentInput) start() startRequest {
	return startRequest{
		id: EnrollmentID(in.Enrollment), input: in, kind: NameEnrollment, environment: in.Environment, state: string(models.EnrollmentPending),
		summary: fmt.Sprintf("Enrollment %s", in.Enrollment),
	}
}

// StartEnrollment starts the workflow of an enrollment unless it is running. The caller asks only while the enrollment is pending: if a run
// has closed before that, the record was restored to an earlier point, and another run trains.
func (c *Client) StartEnrollment(ctx context.Context, r enrollment.WorkflowInput) error {
	in := EnrollmentInput{Enrollment: r.Enrollment, Environment: r.Environment}
	return c.restart(ctx, in.start())
}

// AwaitEnrollment starts the workflow of an enrollment unless it exists and waits until the enrollment has ended.
func (c *Client) AwaitEnrollment(ctx context.Context, r enrollment.WorkflowInput) (enrollment.WorkflowResult, error) {
	in := EnrollmentInput{Enrollment: r.Enrollment, Environment: r.Environment}
	var out enrollment.WorkflowResult
	err := c.updateWithStart(ctx, in.start(),
		update{id: UpdateAwait + ":" + in.Enrollment, name: UpdateAwait, arg: EnrollmentAwait{}}, &out)
	return out, err
}
