// Package worker runs the workflows and activities of the service and relays the outbox. Production, tests and replay share the
// registration, so that all of them know the same workflows. The package only connects parts: it contains no rule and no query.
package worker

import (
	"log/slog"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/workflow"

	"github.com/countersign-dev/countersign/activities"
	"github.com/countersign-dev/countersign/workflows"
)

// WorkflowRegistry registers workflows: a worker, a test environment or a replayer.
type WorkflowRegistry interface {
	RegisterWorkflowWithOptions(w any, options workflow.RegisterOptions)
}

// Registry registers workflows and activities: a worker or a test environment.
type Registry interface {
	WorkflowRegistry
	RegisterActivityWithOptions(a any, options activity.RegisterOptions)
}

// Services are the services behind the activities. A part of the service that adds activities adds a field here.
type Services struct {
	Challenges  activities.ChallengeMoves
	Holds       activities.HoldMoves
	Changes     activities.ChangeMoves
	Evaluations activities.EvaluationMoves
	Enrollments activities.EnrollmentMoves
	Templates   activities.TemplateMoves
	Backgrounds activities.BackgroundMoves
	Subjects    Subjects
	Endpoints   activities.EndpointSender
	Upkeep      activities.UpkeepTasks
	Log         *slog.Logger
}

// RegisterWorkflows registers every workflow, one line each.
func RegisterWorkflows(r WorkflowRegistry) {
	for name, w := range map[string]any{
		workflows.NameChallenge:  workflows.Challenge,
		workflows.NameHold:       workflows.Hold,
		workflows.NameChange:     workflows.Change,
		workflows.NameEvaluation: workflows.Evaluation,
		workflows.NameEnrollment: workflows.Enrollment,
		workflows.NameAdaptation: workflows.Adaptation,
		workflows.NameRecovery:   workflows.Recovery,
		workflows.NameErasure:    workflows.Erasure,
		workflows.NameEndpoint:   workflows.Endpoint,
		workflows.NameUpkeep:     workflows.Upkeep,
		workflows.NameBackground: workflows.Background,
	} {
		r.RegisterWorkflowWithOptions(w, workflow.RegisterOptions{Name: name, VersioningBehavior: workflows.Behavior(name)})
	}
}

// Register registers every workflow and every activity.
func Register(r Registry, s Services) {
	RegisterWorkflows(r)
	registerRecords(r, s)
	registerSubjects(r, s)
	registerEndpoints(r, s)
	registerUpkeep(r, s)
	enrollments := &activities.Enrollments{Moves: s.Enrollments, Log: s.Log}
	adaptations := &activities.Adaptations{Moves: s.Templates, Log: s.Log}
	backgrounds := &activities.Backgrounds{Moves: s.Backgrounds, Log: s.Log}
	for name, a := range map[string]any{
		activities.EnrollmentTrain:    enrollments.Train,
		activities.AdaptationTakeIn:   adaptations.TakeIn,
		activities.BackgroundCount:    backgrounds.Count,
		activities.BackgroundForm:     backgrounds.Form,
		activities.BackgroundActivate: backgrounds.Activate,
		activities.BackgroundCarry:    backgrounds.Carry,
	} {
		r.RegisterActivityWithOptions(a, activity.RegisterOptions{Name: name})
	}
}

// registerRecords registers the moves of the records whose services there are.
func registerRecords(r Registry, s Services) {
	moves := map[string]any{}
	if m := s.Challenges; m != nil {
		moves[activities.ChallengeComplete] = activities.Moving(s.Log, m.Complete)
		moves[activities.ChallengeCancel] = activities.Moving(s.Log, m.Cancel)
		moves[activities.ChallengeExpire] = activities.Moving(s.Log, m.Expire)
	}
	if m := s.Holds; m != nil {
		moves[activities.HoldReview] = activities.Moving(s.Log, m.Review)
		moves[activities.HoldRemind] = activities.Moving(s.Log, m.Remind)
		moves[activities.HoldExpire] = activities.Moving(s.Log, m.Expire)
		moves[activities.HoldEscalate] = activities.Moving(s.Log, m.Escalate)
	}
	if m := s.Changes; m != nil {
		moves[activities.ChangeDecide] = activities.Moving(s.Log, m.Decide)
		moves[activities.ChangeExpire] = activities.Moving(s.Log, m.Expire)
	}
	if m := s.Evaluations; m != nil {
		moves[activities.EvaluationClose] = activities.Moving(s.Log, m.Close)
	}
	for name, a := range moves {
		r.RegisterActivityWithOptions(a, activity.RegisterOptions{Name: name})
	}
}
