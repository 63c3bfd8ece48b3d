package activities_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/countersign-dev/countersign/activities"
	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/platform/problem"
)

const canary = "canary-4711"

// run runs an activity that fails with err and returns what Temporal gets of it.
func run(t *testing.T, in activities.Move, err error) error {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	fails := func(context.Context, challenge.Move) (challenge.Outcome, error) { return challenge.Outcome{}, err }
	env.RegisterActivityWithOptions(activities.Moving(nil, fails), activity.RegisterOptions{Name: activities.ChallengeComplete})
	_, out := env.ExecuteActivity(activities.ChallengeComplete, in)
	require.Error(t, out)
	return out
}

func TestRefusalsAreFinalAndKeepTheirCode(t *testing.T) {
	t.Parallel()
	for _, code := range []problem.Code{problem.ChallengeClosed, problem.ChallengeExpired, problem.AssertionRefused, problem.NotFound} {
		out := run(t, activities.Move{}, fmt.Errorf("wrapped: %w", &problem.Error{Code: code, Detail: "refused", Cause: errors.New(canary)}))
		got, detail, ok := activities.Refusal(out)
		require.True(t, ok)
		require.Equal(t, code, got)
		require.Equal(t, "refused", detail)
		require.NotContains(t, out.Error(), canary, "the chain of causes stays here")
	}
}

func TestFaultsAreRetriedAndRevealNothing(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"unavailable": problem.NewUnavailable("unavailable", errors.New(canary)),
		"internal":    problem.New(problem.Internal, canary),
		"postgres":    &pgconn.PgError{Code: "23505", Detail: canary},
		"anything":    errors.New(canary),
		"a deadline":  context.DeadlineExceeded,
	} {
		out := run(t, activities.Move{}, err)
		_, _, refused := activities.Refusal(out)
		require.False(t, refused, name)
		var app *temporal.ApplicationError
		require.ErrorAs(t, out, &app, name)
		require.False(t, app.NonRetryable(), name)
		require.Equal(t, activities.Fault, app.Type(), name)
		require.NotContains(t, out.Error(), canary, name)
	}
}

func TestInvalidDigestIsRefused(t *testing.T) {
	t.Parallel()
	code, _, ok := activities.Refusal(run(t, activities.Move{Request: "no hex"}, errors.New("never called")))
	require.True(t, ok)
	require.Equal(t, problem.Conflict, code)
}

func TestOtherErrorsOfTemporalAreNoRefusals(t *testing.T) {
	t.Parallel()
	for _, err := range []error{nil, errors.New("x"), temporal.NewTimeoutError(1, nil), temporal.NewCanceledError(), temporal.NewNonRetryableApplicationError("x", activities.Fault, nil)} {
		_, _, ok := activities.Refusal(err)
		require.False(t, ok, "%v", err)
	}
}
