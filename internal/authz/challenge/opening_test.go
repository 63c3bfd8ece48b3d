package challenge_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// clientLink creates a link for a client and returns its ticket.
func (b *bundle) clientLink(t *testing.T, c models.Challenge) string {
	t.Helper()
	link, err := b.service.CreateLink(t.Context(), b.Principal("crd_1"), c.ID, challenge.LinkOptions{ForClient: true})
	require.NoError(t, err)
	return ticketOf(t, b, link, c)
}

// signed returns the assertion that the fake passkey makes for the link as it is now.
func (b *bundle) signed(t *testing.T, ticket string) json.RawMessage {
	t.Helper()
	options, err := b.service.OpeningOptions(t.Context(), ticket)
	require.NoError(t, err)
	raw, err := json.Marshal(options)
	require.NoError(t, err)
	return raw
}

func (b *bundle) visitor() identity.Principal {
	p := b.Principal("crd_1")
	p.Page = "challenge"
	return p
}

func TestClientLinkShowsNothingUntilItIsOpened(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.Challenge(life, "passkey")
	ticket := b.clientLink(t, c)
	closed := func(secret string) {
		t.Helper()
		v, err := b.service.ByTicket(t.Context(), ticket, secret)
		require.NoError(t, err)
		require.True(t, v.Closed)
		require.Equal(t, challenge.View{ID: c.ID, Status: models.ChallengeOpen, Methods: c.Methods, ExpiresAt: v.ExpiresAt}, v.View)
		require.Empty(t, v.ReturnURL)
	}
	closed("")
	closed(ticket)

	assertion := b.signed(t, ticket)
	secret, err := b.service.OpenLink(t.Context(), b.visitor(), ticket, "passkey", assertion)
	require.NoError(t, err)
	v, err := b.service.ByTicket(t.Context(), ticket, secret)
	require.NoError(t, err)
	require.False(t, v.Closed)
	require.NotEmpty(t, v.Display)
	closed("")

	_, err = b.service.OpenLink(t.Context(), b.visitor(), ticket, "passkey", assertion)
	require.True(t, problem.Is(err, problem.AssertionChallenge), "an assertion opens a link once: %v", err)
	again, err := b.service.OpenLink(t.Context(), b.visitor(), ticket, "passkey", b.signed(t, ticket))
	require.NoError(t, err)
	require.NotEqual(t, secret, again)
	closed(secret)
	require.Equal(t, 0, b.Count("select count(*) from challenge_links where encode(opened, 'escape') like '%' || $1 || '%'", again))
}

func TestClientLinkEndsAfterFiveRefusals(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.Challenge(life, "passkey")
	ticket, other := b.clientLink(t, c), b.clientLink(t, c)
	for range challenge.MaxFailures {
		_, err := b.service.OpenLink(t.Context(), b.visitor(), ticket, "passkey", json.RawMessage(`"AAAA"`))
		require.True(t, problem.Is(err, problem.AssertionChallenge), "%v", err)
	}
	_, err := b.service.ByTicket(t.Context(), ticket, "")
	require.True(t, problem.Is(err, problem.NotFound), "%v", err)
	_, err = b.service.OpenLink(t.Context(), b.visitor(), ticket, "passkey", json.RawMessage(`"AAAA"`))
	require.True(t, problem.Is(err, problem.NotFound), "%v", err)
	ended, err := b.service.Ended(t.Context(), c.ID, ticket)
	require.NoError(t, err)
	require.Equal(t, challenge.LinkRefused, ended.State)

	now, err := b.service.Get(t.Context(), b.Scope, c.ID)
	require.NoError(t, err)
	require.Equal(t, models.ChallengeOpen, now.Status, "the challenge goes on")
	_, err = b.service.OpenLink(t.Context(), b.visitor(), other, "passkey", b.signed(t, other))
	require.NoError(t, err, "and so do its other links")
	require.Equal(t, challenge.MaxFailures, b.Count("select count(*) from events where type = 'challenge.link_refused'"))
	require.Equal(t, 1, b.Count("select count(*) from events where type = 'challenge.link_opened'"))
}

// Without a passkey, the button of test mode opens a link, where the challenge offers it; with one, it does not.
func TestClientLinkOpensWithoutAPasskeyInTestMode(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		passkeys bool
		kind     models.EnvironmentKind
		methods  []string
		want     problem.Code
	}{
		"no passkey":         {false, models.Sandbox, []string{"passkey", "sandbox_confirm"}, ""},
		"a passkey":          {true, models.Sandbox, []string{"passkey", "sandbox_confirm"}, problem.MethodNotOffered},
		"not offered":        {false, models.Sandbox, []string{"passkey"}, problem.MethodNotOffered},
		"a live environment": {false, models.Live, []string{"passkey", "sandbox_confirm"}, problem.SandboxOnly},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			if !tc.passkeys {
				b.Exec("delete from passkeys")
			}
			ticket := b.clientLink(t, b.Challenge(life, tc.methods...))
			p := b.visitor()
			p.Kind = tc.kind
			_, err := b.service.OpenLink(t.Context(), p, ticket, "sandbox_confirm", nil)
			if tc.want == "" {
				require.NoError(t, err)
			} else {
				require.True(t, problem.Is(err, tc.want), "%v", err)
			}
		})
	}
}

// A link of the relying party's own pages opens without a ceremony, as in the first version of the contract.
func TestOpeningIsForClientLinksOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.Challenge(life, "passkey")
	link, err := b.service.CreateLink(t.Context(), b.Principal("crd_1"), c.ID, challenge.LinkOptions{})
	require.NoError(t, err)
	ticket := ticketOf(t, b, link, c)
	v, err := b.service.ByTicket(t.Context(), ticket, "")
	require.NoError(t, err)
	require.False(t, v.Closed)
	require.NotEmpty(t, v.Display)
	_, err = b.service.OpeningOptions(t.Context(), ticket)
	require.True(t, problem.Is(err, problem.NotFound), "%v", err)
	_, err = b.service.OpenLink(t.Context(), b.visitor(), ticket, "passkey", json.RawMessage(`""`))
	require.True(t, problem.Is(err, problem.NotFound), "%v", err)
}
