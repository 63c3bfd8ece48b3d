package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/authz/evaluation"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/platform/problem"

	"github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/internal/subject/enrollment"
	"github.com/countersign-dev/countersign/internal/subject/recovery"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/worker"
	"github.com/countersign-dev/countersign/workflows"
)

// scenario is one run that is recorded: what its activities work on, and what is asked of it.
type scenario struct {
	id       string
	services worker.Services
	drive    func(t *testing.T, c *workflows.Client)
	start    func(t *testing.T, c client.Client) // instead of drive, for what only a schedule starts
}

// soon is a deadline that a real server reaches while a test waits, and distant one that it does not.
const (
	soon    = 1500 * time.Millisecond
	distant = time.Hour
)

// scenarios makes each scenario when it is about to run: its deadlines count from then.
func scenarios() map[string]func() scenario {
	all := map[string]func() scenario{}
	for _, some := range []map[string]func() scenario{
		challengeScenarios(), holdScenarios(), changeScenarios(), evaluationScenarios(), recoveryScenarios(), enrollmentScenarios(), erasureScenarios(), endpointScenarios(),
		upkeepScenarios(), adaptationScenarios(), backgroundScenarios(),
	} {
		for name, s := range some {
			all[name] = s
		}
	}
	return all
}

func challengeScenarios() map[string]func() scenario {
	of := func(life time.Duration, change func(r *challengeRecord), drive func(t *testing.T, c *workflows.Client, run challenge.WorkflowInput, r *challengeRecord)) func() scenario {
		return func() scenario {
			expires := time.Now().UTC().Add(life)
			r := newChallengeRecord(expires)
			change(r)
			run := challenge.WorkflowInput{Challenge: "chl_1", Authorization: "azn_1", Environment: "env_1", Action: "payments.transfer", ExpiresAt: expires}
			return scenario{
				id: workflows.ChallengeID("chl_1"), services: worker.Services{Challenges: r},
				drive: func(t *testing.T, c *workflows.Client) { drive(t, c, run, r) },
			}
		}
	}
	nothing := func(*challengeRecord) {}
	return map[string]func() scenario{
		"challenge-completed": of(distant, nothing, func(t *testing.T, c *workflows.Client, run challenge.WorkflowInput, _ *challengeRecord) {
			require.NoError(t, c.StartChallenge(t.Context(), run))
			_, err := c.CompleteChallenge(t.Context(), run, "0a")
			require.NoError(t, err)
		}),
		"challenge-completed-by-its-start": of(distant, nothing, func(t *testing.T, c *workflows.Client, run challenge.WorkflowInput, _ *challengeRecord) {
			_, err := c.CompleteChallenge(t.Context(), run, "0a")
			require.NoError(t, err)
		}),
		"challenge-refused-then-cancelled": of(distant, nothing, func(t *testing.T, c *workflows.Client, run challenge.WorkflowInput, _ *challengeRecord) {
			_, err := c.CompleteChallenge(t.Context(), run, "0bad")
			require.True(t, problem.Is(err, problem.AssertionRefused), "%v", err)
			_, err = c.CancelChallenge(t.Context(), run, "0b")
			require.NoError(t, err)
		}),
		"challenge-completed-after-an-outage": of(distant, func(r *challengeRecord) {
			r.fault = func(n int) error {
				if n < 7 {
					return errUnavailable
				}
				return nil
			}
		}, func(t *testing.T, c *workflows.Client, run challenge.WorkflowInput, _ *challengeRecord) {
			_, err := c.CompleteChallenge(t.Context(), run, "0a")
			require.NoError(t, err)
		}),
		"challenge-expired": of(soon, nothing, func(t *testing.T, c *workflows.Client, run challenge.WorkflowInput, _ *challengeRecord) {
			require.NoError(t, c.StartChallenge(t.Context(), run))
		}),
		"challenge-settled-past-its-run": of(distant, nothing, func(t *testing.T, c *workflows.Client, run challenge.WorkflowInput, r *challengeRecord) {
			require.NoError(t, c.StartChallenge(t.Context(), run))
			r.settle(models.ChallengeFailed)
			require.NoError(t, c.SettleChallenge(t.Context(), run.Challenge))
		}),
	}
}

func holdScenarios() map[string]func() scenario {
	of := func(life time.Duration, required int, drive func(t *testing.T, c *workflows.Client, run hold.WorkflowInput)) func() scenario {
		return func() scenario {
			now := time.Now().UTC()
			run := hold.WorkflowInput{Authorization: "azn_1", Environment: "env_1", Action: "payments.transfer", RemindAt: now.Add(life / 2), DueAt: now.Add(life)}
			return scenario{
				id: workflows.HoldID("azn_1"), services: worker.Services{Holds: newHoldRecord(run.RemindAt, run.DueAt, required)},
				drive: func(t *testing.T, c *workflows.Client) {
					require.NoError(t, c.StartHold(t.Context(), run))
					drive(t, c, run)
				},
			}
		}
	}
	review := func(t *testing.T, c *workflows.Client, run hold.WorkflowInput, m workflows.MoveRequest) {
		_, err := c.ReviewHold(t.Context(), run, m.Resolution, m.Request)
		require.NoError(t, err)
	}
	return map[string]func() scenario{
		"hold-approved": of(distant, 1, func(t *testing.T, c *workflows.Client, run hold.WorkflowInput) { review(t, c, run, annApproves) }),
		"hold-rejected": of(distant, 1, func(t *testing.T, c *workflows.Client, run hold.WorkflowInput) { review(t, c, run, annRejects) }),
		"hold-escalated-then-expired": func() scenario {
			now := time.Now().UTC()
			run := hold.WorkflowInput{
				Authorization: "azn_1", Environment: "env_1", Action: "payments.transfer", EscalateAt: now.Add(soon / 4), RemindAt: now.Add(soon / 2), DueAt: now.Add(soon),
			}
			r := newHoldRecord(run.RemindAt, run.DueAt, 1)
			r.escalate = run.EscalateAt
			return scenario{
				id: workflows.HoldID("azn_1"), services: worker.Services{Holds: r},
				drive: func(t *testing.T, c *workflows.Client) { require.NoError(t, c.StartHold(t.Context(), run)) },
			}
		},
		"hold-expired": of(soon, 1, func(*testing.T, *workflows.Client, hold.WorkflowInput) {}),
		"hold-approved-by-two": of(distant, 2, func(t *testing.T, c *workflows.Client, run hold.WorkflowInput) {
			review(t, c, run, annApproves)
			review(t, c, run, bobApproves)
		}),
	}
}

func evaluationScenarios() map[string]func() scenario {
	of := func(life time.Duration, drive func(t *testing.T, c *workflows.Client, run evaluation.WorkflowInput)) func() scenario {
		return func() scenario {
			var ends *time.Time
			if life > 0 {
				end := time.Now().UTC().Add(life)
				ends = &end
			}
			run := evaluation.WorkflowInput{Evaluation: "evl_1", Environment: "env_1", EndsAt: ends}
			return scenario{
				id: workflows.EvaluationID("evl_1"), services: worker.Services{Evaluations: &evaluationRecord{ends: ends}},
				drive: func(t *testing.T, c *workflows.Client) {
					require.NoError(t, c.StartEvaluation(t.Context(), run))
					drive(t, c, run)
				},
			}
		}
	}
	return map[string]func() scenario{
		"evaluation-ended": of(soon, func(*testing.T, *workflows.Client, evaluation.WorkflowInput) {}),
		"evaluation-closed": of(0, func(t *testing.T, c *workflows.Client, run evaluation.WorkflowInput) {
			_, err := c.CloseEvaluation(t.Context(), run, closeIt)
			require.NoError(t, err)
		}),
	}
}

// recoveryRecord cools down until ready and expires at its end.
type recoveryRecord struct{ ready, expires time.Time }

func (r recoveryRecord) Advance(_ context.Context, s recovery.Step) (recovery.Progress, error) {
	switch {
	case s.At.Before(r.ready):
		return recovery.Progress{Status: models.RecoveryCoolingDown, Next: r.ready}, nil
	case s.At.Before(r.expires):
		return recovery.Progress{Status: models.RecoveryReady, Next: r.expires}, nil
	default:
		return recovery.Progress{Status: models.RecoveryExpired}, nil
	}
}

func recoveryScenarios() map[string]func() scenario {
	return map[string]func() scenario{"recovery-expired": func() scenario {
		now := time.Now().UTC()
		return scenario{
			id:       workflows.RecoveryID("rcv_1"),
			services: worker.Services{Subjects: worker.Subjects{Recoveries: recoveryRecord{now.Add(soon), now.Add(2 * soon)}}},
			drive: func(t *testing.T, c *workflows.Client) {
				require.NoError(t, c.StartRecovery(t.Context(), recovery.WorkflowInput{Recovery: "rcv_1", Environment: "env_1"}))
			},
		}
	}}
}

// erasureRecord has one run to forget and nothing else.
type erasureRecord struct{}

func (erasureRecord) Workflows(_ context.Context, _ subject.Run, after subject.WorkflowRef) ([]subject.WorkflowRef, error) {
	if after.ID != "" {
		return nil, nil
	}
	return []subject.WorkflowRef{{Kind: workflows.NameHold, ID: "azn_1"}}, nil
}

func (erasureRecord) Sweep(context.Context, subject.Run) (bool, error) { return false, nil }

func (erasureRecord) Finish(context.Context, subject.Run, string, time.Time) (bool, error) {
	return false, nil
}

func (erasureRecord) Forget(context.Context, []string) error { return nil }

func erasureScenarios() map[string]func() scenario {
	return map[string]func() scenario{"erasure-completed": func() scenario {
		return scenario{
			id:       workflows.ErasureID("ers_1"),
			services: worker.Services{Subjects: worker.Subjects{Erasures: erasureRecord{}, Workflows: erasureRecord{}}},
			drive: func(t *testing.T, c *workflows.Client) {
				require.NoError(t, c.StartErasure(t.Context(), subject.WorkflowInput{Erasure: "ers_1", Environment: "env_1"}))
			},
		}
	}}
}

// enrollmentRecord is an enrollment that trains at once.
type enrollmentRecord struct{}

func (enrollmentRecord) Train(context.Context, enrollment.Step) (models.EnrollmentStatus, error) {
	return models.EnrollmentCompleted, nil
}

func enrollmentScenarios() map[string]func() scenario {
	run := enrollment.WorkflowInput{Enrollment: "enr_1", Environment: "env_1"}
	return map[string]func() scenario{
		"enrollment-completed": func() scenario {
			return scenario{
				id: workflows.EnrollmentID("enr_1"), services: worker.Services{Enrollments: enrollmentRecord{}},
				drive: func(t *testing.T, c *workflows.Client) {
					out, err := c.AwaitEnrollment(t.Context(), run)
					require.NoError(t, err)
					require.Equal(t, string(models.EnrollmentCompleted), out.Status)
				},
			}
		},
	}
}
