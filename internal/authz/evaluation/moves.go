package evaluation

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/internal/authz/settle"
	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Move is a request to close an evaluation.
type Move = settle.Move

// Outcome is the state of an evaluation after a move. Workflow histories contain it: fields are added, never renamed.
type Outcome struct {
	Status models.EvaluationStatus `json:"Status"`
	Result string                  `json:"Result"` // InProgress, Passed or Failed
	EndsAt *time.Time              `json:"EndsAt"` // nil: open until it is closed
}

// WorkflowInput is the input of the workflow of an evaluation.
type WorkflowInput struct {
	Evaluation  string
	Environment string
	EndsAt      *time.Time
}

// WorkflowInput looks up what the workflow of an evaluation starts with, for the outbox relay. It returns false if the evaluation
// is closed or deleted, so that no workflow is needed.
func (s *Service) WorkflowInput(ctx context.Context, environment, id string) (WorkflowInput, bool, error) {
	row, err := s.lookup(ctx, environment, id)
	if errors.Is(err, pg.ErrNotFound) {
		return WorkflowInput{}, false, nil
	}
	return workflowInput(row), row.Status == models.EvaluationOpen, err
}

// workflowInput returns what the workflow of an evaluation starts with.
func workflowInput(row models.Evaluation) WorkflowInput {
	return WorkflowInput{Evaluation: row.ID, Environment: row.EnvironmentID, EndsAt: utc(row.EndsAt)}
}

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC()
	return &u
}

func (s *Service) lookup(ctx context.Context, environment, id string) (row models.Evaluation, err error) {
	err = s.store.Write(ctx, func(q *pg.Q) error {
		row, err = lockEvaluation(ctx, q, environment, id)
		return err
	})
	return row, err
}

// PrepareClose returns the input of the workflow of an evaluation that can be closed; it refuses a closed one.
func (s *Service) PrepareClose(ctx context.Context, scope pg.Scope, id string) (WorkflowInput, error) {
	row, err := getEvaluation(ctx, s.store.Q, scope, id)
	if err != nil {
		return WorkflowInput{}, err
	}
	if Effective(row, s.clock.Now()) == models.EvaluationClosed {
		return WorkflowInput{}, problem.New(problem.EvaluationClosed, "The evaluation is closed.")
	}
	return workflowInput(row), nil
}

// Close counts the decisions, stores the report and closes the evaluation.
func (s *Service) Close(ctx context.Context, m Move) (Outcome, error) {
	row, err := s.lookup(ctx, m.Environment, m.ID)
	if errors.Is(err, pg.ErrNotFound) {
		return Outcome{}, problem.NewNotFound()
	}
	if err != nil {
		return Outcome{}, err
	}
	if row.Status == models.EvaluationOpen && m.Actor == "" && Effective(row, m.At) == models.EvaluationOpen {
		return Outcome{Status: row.Status, Result: InProgress, EndsAt: utc(row.EndsAt)}, nil
	}
	if row.Status == models.EvaluationClosed {
		return outcomeOf(row)
	}
	// Counting may take seconds over millions of decisions: it is done before the row is locked.
	counted, err := s.measure(ctx, row, m.At, closeWithin)
	if err != nil {
		return Outcome{}, err
	}
	counted.Result = result(counted.Checks, models.EvaluationClosed)
	return s.settle(ctx, m, row, counted)
}

// settle stores the report and closes the evaluation, unless another move closed it first.
func (s *Service) settle(ctx context.Context, m Move, row models.Evaluation, counted measured) (Outcome, error) {
	report, err := json.Marshal(counted)
	if err != nil {
		return Outcome{}, err
	}
	// The UPDATE names the status open, so that exactly one of several closes stores its report.
	out := Outcome{Status: models.EvaluationClosed, Result: counted.Result, EndsAt: utc(row.EndsAt)}
	err = s.store.Write(ctx, func(q *pg.Q) error {
		moved, err := closeEvaluation(ctx, q, row, report, m.At)
		if err != nil {
			return err
		}
		if !moved {
			closed, err := lockEvaluation(ctx, q, row.EnvironmentID, m.ID)
			if err != nil {
				return err
			}
			out, err = outcomeOf(closed)
			return err
		}
		return events.Append(ctx, q, events.Entry{
			Scope: pg.Scope{Tenant: row.TenantID, Environment: row.EnvironmentID}, At: m.At,
			Actor: actor(m), RequestID: m.RequestID, WorkflowID: m.WorkflowID,
			Data: events.EvaluationClosedData{Evaluation: m.ID, Result: counted.Result, Decisions: &counted.Metrics.Decisions,
				ReportDigest: canonical.DigestBytes(report)},
		})
	})
	return out, err
}

// actor returns who closed the evaluation: a credential, or the workflow.
func actor(m Move) string {
	if m.Actor != "" {
		return m.Actor
	}
	return "workflow:" + m.WorkflowID
}

// outcomeOf returns the Outcome of a closed evaluation from its stored report.
func outcomeOf(row models.Evaluation) (Outcome, error) {
	var m measured
	if err := json.Unmarshal(row.Report, &m); err != nil {
		return Outcome{}, err
	}
	return Outcome{Status: row.Status, Result: m.Result, EndsAt: utc(row.EndsAt)}, nil
}
