package staff_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/descope/virtualwebauthn"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// synced responds like a synced passkey, which has no counter: only the service can detect a repeated response.
func (b *bundle) synced(t *testing.T, d *device, options any) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"publicKey": options})
	require.NoError(t, err)
	parsed, err := virtualwebauthn.ParseAssertionOptions(string(raw))
	require.NoError(t, err)
	return json.RawMessage(virtualwebauthn.CreateAssertionResponse(b.rp, d.Authenticator, d.credential, *parsed))
}

func TestConfirmationCeremonyIsUsedOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	opened, d := b.joined(t, models.RoleReviewer)
	begin := func() json.RawMessage {
		options, err := b.service.ConfirmOptions(t.Context(), opened.Session)
		require.NoError(t, err)
		return b.synced(t, d, options)
	}
	confirm := func(answer json.RawMessage) error {
		return b.service.Confirm(t.Context(), opened.Session, b.env.ID, answer, "req_1")
	}
	first := begin()
	require.NoError(t, confirm(first))
	requireCode(t, problem.AssertionChallenge, confirm(first))
	second := begin()
	require.NoError(t, confirm(second))
	requireCode(t, problem.AssertionChallenge, confirm(first))
	requireCode(t, problem.AssertionChallenge, confirm(second))

	older, newer := begin(), begin()
	requireCode(t, problem.AssertionChallenge, confirm(older))
	require.NoError(t, confirm(newer))
	require.Equal(t, 3, b.events(t, "person.confirmed"))
}

func TestSignInCeremonyStaysUsedAfterAConfirmation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, d := b.joined(t, models.RoleReviewer)
	options, err := b.service.SignInOptions()
	require.NoError(t, err)
	used := b.synced(t, d, options)
	opened, err := b.service.SignIn(t.Context(), used, "req_1")
	require.NoError(t, err)
	b.clock.Advance(time.Second)
	again, err := b.service.ConfirmOptions(t.Context(), opened.Session)
	require.NoError(t, err)
	require.NoError(t, b.service.Confirm(t.Context(), opened.Session, b.env.ID, b.synced(t, d, again), "req_2"))
	_, err = b.service.SignIn(t.Context(), used, "req_3")
	requireCode(t, problem.AssertionChallenge, err)
}
