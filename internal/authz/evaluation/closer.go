package evaluation

import (
	"context"
	"errors"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/platform/durable"
	"github.com/countersign-dev/countersign/models"
)

// CloseRequest asks the workflow of an evaluation to close it. Workflow histories contain it: fields are added, never renamed.
type CloseRequest struct {
	Actor     string `json:"Actor"` // credential:<id>, or person:<id> of a member of staff; never a name
	RequestID string `json:"RequestID"`
}

// Workflow closes an evaluation at its end or on request (workflows.Client). Its errors are problems, or durable.ErrClosed.
type Workflow interface {
	CloseEvaluation(ctx context.Context, in WorkflowInput, r CloseRequest) (Outcome, error)
	RestartEvaluation(ctx context.Context, in WorkflowInput) error
}

// Closer closes evaluations on request.
type Closer struct {
	evaluations *Service
	workflow    Workflow
}

// NewCloser returns a Closer.
func NewCloser(evaluations *Service, workflow Workflow) *Closer {
	return &Closer{evaluations: evaluations, workflow: workflow}
}

// Close closes an evaluation on behalf of the principal and returns it. It returns finished false if the workflow has
// accepted the request and is still counting. Closing a closed evaluation is refused with evaluation_closed.
func (c *Closer) Close(ctx context.Context, p identity.Principal, id string) (v View, finished bool, err error) {
	in, err := c.evaluations.PrepareClose(ctx, p.Store(), id)
	if err != nil {
		return View{}, false, err
	}
	by := CloseRequest{Actor: p.Actor(), RequestID: p.RequestID}
	if v, finished, err = c.close(ctx, p, in, by); err != nil || !finished || v.Status == string(models.EvaluationClosed) {
		return v, finished, err
	}
	// It is open although its run has closed (durable.HasClosed): a new run closes it.
	if err := c.workflow.RestartEvaluation(ctx, in); err != nil {
		return View{}, false, err
	}
	return c.close(ctx, p, in, by)
}

// close asks the workflow to close the evaluation and reads what became of it.
func (c *Closer) close(ctx context.Context, p identity.Principal, in WorkflowInput, by CloseRequest) (v View, finished bool, err error) {
	_, err = c.workflow.CloseEvaluation(ctx, in, by)
	finished = !errors.Is(err, durable.ErrAccepted)
	if finished && !durable.HasClosed(err) {
		return View{}, false, err
	}
	v, err = c.evaluations.Get(ctx, p.Store(), in.Evaluation)
	return v, finished, err
}
