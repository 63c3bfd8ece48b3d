package activities

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/countersign-dev/countersign/internal/subject/enrollment"
	"github.com/countersign-dev/countersign/models"
)

// EnrollmentTrain is the registered name of the activity of an enrollment. Histories refer to it: never rename it.
const EnrollmentTrain = "enrollment.train"

// EnrollmentMoves trains enrollments (enrollment.Service).
type EnrollmentMoves interface {
	Train(ctx context.Context, step enrollment.Step) (models.EnrollmentStatus, error)
}

// EnrollmentStep is the payload of the training of one enrollment.
type EnrollmentStep struct {
	Enrollment  string
	Environment string
	At          time.Time `json:",omitzero"` // the workflow's time
}

// EnrollmentStanding is the state of an enrollment after the training.
type EnrollmentStanding struct {
	Status string
}

// Enrollments are the activities of an enrollment.
type Enrollments struct {
	Moves EnrollmentMoves
	Log   *slog.Logger
}

// Train trains the templates and settles the enrollment.
func (a *Enrollments) Train(ctx context.Context, in EnrollmentStep) (EnrollmentStanding, error) {
	status, err := a.Moves.Train(ctx, enrollment.Step{
		ID: in.Enrollment, Environment: in.Environment, At: moment(in.At), WorkflowID: activity.GetInfo(ctx).WorkflowExecution.ID,
	})
	if err != nil {
		return EnrollmentStanding{}, report(ctx, a.Log, err)
	}
	return EnrollmentStanding{Status: string(status)}, nil
}
