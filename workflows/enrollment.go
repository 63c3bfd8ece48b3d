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

// NameEnrollment and UpdateAwait are registered names. Histories refer to them: they are never renamed.
const (
	NameEnrollment = "enrollment"
	UpdateAwait    = "await"
)

// EnrollmentID is the id of the run of an enrollment.
func EnrollmentID(id string) string { return NameEnrollment + "/" + id }

// EnrollmentInput starts the run of an enrollment. Fields are added, never changed.
type EnrollmentInput struct {
	Enrollment  string
	Environment string
}

// EnrollmentAwait asks to be told how the enrollment ended.
type EnrollmentAwait struct{}

// EnrollmentResult is how an enrollment ended.
type EnrollmentResult struct {
	Status string
}

// Enrollment trains the templates of one enrollment. Whoever completed it waits by an update; the run does not wait for
// them.
func Enrollment(ctx workflow.Context, in EnrollmentInput) (EnrollmentResult, error) {
	r := &enrollmentRun{in: in}
	err := workflow.SetUpdateHandlerWithOptions(ctx, UpdateAwait, r.await, workflow.UpdateHandlerOptions{
		Description: "Wait until the enrollment is settled.",
	})
	if err != nil {
		return EnrollmentResult{}, err
	}
	r.tell(ctx, "Enrollment %s: the templates are being trained.", in.Enrollment)
	return r.run(ctx)
}

type enrollmentRun struct {
	story
	in      EnrollmentInput
	settled *EnrollmentResult
}

func (r *enrollmentRun) await(ctx workflow.Context, _ EnrollmentAwait) (EnrollmentResult, error) {
	if err := workflow.Await(ctx, func() bool { return r.settled != nil }); err != nil {
		return EnrollmentResult{}, err
	}
	return *r.settled, nil
}

func (r *enrollmentRun) run(ctx workflow.Context) (EnrollmentResult, error) {
	standing, err := untilAnswered[activities.EnrollmentStanding](ctx, func(ctx workflow.Context, at time.Time) workflow.Future {
		return workflow.ExecuteActivity(slowStep(ctx, step(activities.EnrollmentTrain)), activities.EnrollmentTrain,
			activities.EnrollmentStep{Enrollment: r.in.Enrollment, At: at})
	})
	if err != nil {
		return EnrollmentResult{}, err
	}
	r.settled = &EnrollmentResult{Status: standing.Status}
	r.tell(ctx, "The enrollment is %s.", standing.Status)
	if err := becomes(ctx, standing.Status, ""); err != nil {
		return EnrollmentResult{}, err
	}
	return *r.settled, finish(ctx)
}

func (in EnrollmentInput) about() about {
	return about{
		kind: NameEnrollment, environment: in.Environment, state: string(models.EnrollmentPending),
		summary: fmt.Sprintf("Enrollment %s", in.Enrollment),
	}
}

// StartEnrollment starts the run of an enrollment unless it exists.
func (c *Client) StartEnrollment(ctx context.Context, r enrollment.WorkflowInput) error {
	in := EnrollmentInput{Enrollment: r.Enrollment, Environment: r.Environment}
	return c.start(ctx, EnrollmentID(in.Enrollment), NameEnrollment, in.about(), in)
}

// AwaitEnrollment starts the run of an enrollment unless it exists and waits for its end.
func (c *Client) AwaitEnrollment(ctx context.Context, r enrollment.WorkflowInput) (EnrollmentResult, error) {
	in := EnrollmentInput{Enrollment: r.Enrollment, Environment: r.Environment}
	var out EnrollmentResult
	err := c.updateWithStart(ctx, EnrollmentID(in.Enrollment), NameEnrollment, in.about(), in,
		update{id: UpdateAwait + ":" + in.Enrollment, name: UpdateAwait, arg: EnrollmentAwait{}}, &out)
	return out, err
}
