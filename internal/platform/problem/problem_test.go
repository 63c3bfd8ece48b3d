package problem_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/problem"
)

func TestEveryCodeHasATitleAndARemedy(t *testing.T) {
	t.Parallel()
	for code, kind := range problem.Catalogue() {
		require.Regexp(t, `^[a-z][a-z0-9_]*$`, string(code))
		require.NotEmpty(t, kind.Title, code)
		require.True(t, kind.Status >= 400 && kind.Status < 600, code)
		require.Regexp(t, `^[A-Z].*\.$`, problem.Remedy(code), code)
	}
	require.Equal(t, problem.Of(problem.Internal), problem.Of("no_such_code"))
}

func TestAsFindsWrappedErrors(t *testing.T) {
	t.Parallel()
	cause := errors.New("no route to host")
	err := fmt.Errorf("authorizing: %w", problem.NewUnavailable("Unavailable.", cause))
	require.True(t, problem.Is(err, problem.Unavailable))
	require.False(t, problem.Is(err, problem.Internal))
	require.ErrorIs(t, err, cause)
	require.Positive(t, problem.As(err).RetryAfter)
	require.Nil(t, problem.As(cause))
	require.Equal(t, problem.NewNotFound().Detail, problem.NewNotFound().Detail, "missing and foreign resources return the same detail")
}

func TestNotFoundSaysHowToCreateWhatAFirstDecisionNeeds(t *testing.T) {
	t.Parallel()
	for parameter, says := range map[string]string{
		"subject": "POST /api/v1/subjects, createSubject", "subject_id": "POST /api/v1/subjects, createSubject", "action": "POST /api/v1/actions, createAction",
		"action_id": "New action in the console", "session": "POST /api/v1/sessions, createSession",
	} {
		require.Contains(t, problem.NotFoundBy(parameter).Detail, says, parameter)
	}
	require.Equal(t, "No such resource exists in this environment: check passkey_id.", problem.NotFoundBy("passkey_id").Detail)
}
