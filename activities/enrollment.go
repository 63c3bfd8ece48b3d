package activities

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/countersign-dev/countersign/internal/subject/enrollment"
	"github.com/countersign-dev/countersign/models"
)

// EnrollmentTrain is the name under which the activity of an enrollment is registered.
const EnrollmentTrain = "enrollment.train"

// EnrollmentMoves are the moves of an enrollment (internal/subject/enrollment).
type EnrollmentMoves interface {
	Train(ctx context.Context, step enrollment.Step) (models.EnrollmentStatus, error)
}

// EnrollmentStep asks for the training of one enrollment.
type EnrollmentStep struct {
	Enrollment string
	At         time.Time // the workflow's time
}

// EnrollmentStanding is how an enrollment was settled.
type EnrollmentStanding struct {
	Status string
}

// Enrollments are the activities of an enrollment.
type Enrollments struct {
	Moves EnrollmentMoves
	Log   *slog.Logger
}

// Train learns the templates and settles the enrollment.
func (a *Enrollments) Train(ctx context.Context, in EnrollmentStep) (EnrollmentStanding, error) {
	status, err := a.Moves.Train(ctx, enrollment.Step{
		ID: in.Enrollment, At: moment(in.At), WorkflowID: activity.GetInfo(ctx).WorkflowExecution.ID,
	})
	if err != nil {
		return EnrollmentStanding{}, report(ctx, a.Log, err)
	}
	return EnrollmentStanding{Status: string(status)}, nil
}
