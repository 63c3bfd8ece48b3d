package integration_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/local/demo"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// The sessions of the same subject lead to the four decisions that an integration has to handle.
func TestDemoSessionsLeadToEachDecision(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject := w.subject(t)
	_, action := w.action(t, "enforce", object{
		"claims": object{"operator_continuity": "likely"}, "coverage_min": "partial",
		"hold_on": []string{"continuity_mismatch", "continuity_recent_mismatch", "automation_range"}, "deny_on": []string{"replay_exact"},
	})
	decide := func(t *testing.T, session string) string {
		t.Helper()
		body := request(subject, action)
		if session != "" {
			body["session"] = session
		}
		return w.Server.post(t, "/api/v1/authorize", body).is(200).string("decision")
	}
	require.Equal(t, "challenge", decide(t, ""))
	for _, tt := range []struct {
		typing demo.Typing
		want   string
	}{
		{demo.TypingSelf, "allow"}, {demo.TypingOther, "hold"}, {demo.TypingReplay, "deny"}, {demo.TypingProgram, "hold"},
		{demo.TypingSelf, "allow"}, // on the same day, and nevertheless no replay
	} {
		t.Run(string(tt.typing), func(t *testing.T) {
			session, err := demoSession(t, w.Server, subject, tt.typing)
			require.NoError(t, err)
			require.Equal(t, tt.want, decide(t, session))
		})
	}
	require.Len(t, w.Server.get(t, "/api/v1/subjects/"+subject+"/enrollments").is(200).list(), 1, "the subject is enrolled once")
}

func TestDemoSessionCreatesItsSubjectInASandboxOnly(t *testing.T) {
	t.Parallel()
	made := newTenant(t)
	_, err := demoSession(t, made.Sandbox.Server, "ada", demo.TypingSelf)
	require.NoError(t, err)
	require.Equal(t, "enrolled", made.Sandbox.Server.get(t, "/api/v1/subjects/ada").is(200).string("enrollment"))
	_, err = demoSession(t, made.Live.Server, "ada", demo.TypingSelf)
	require.EqualError(t, err, "the demonstration needs a key of a sandbox environment")
	made.Live.Server.get(t, "/api/v1/subjects/ada").problem(404, "not_found")
}

func demoSession(t *testing.T, c caller, subject string, typing demo.Typing) (string, error) {
	t.Helper()
	api, err := countersign.New(shared.baseURL, c.key)
	require.NoError(t, err)
	return demo.Session(t.Context(), demo.SessionOptions{API: api, Subject: subject, Typing: typing, Now: clock.System().Now, Out: t.Output()})
}
