package challenge_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// A page sends people to the listed origins and nowhere else, however the URL is written.
func TestAllowedReturn(t *testing.T) {
	t.Parallel()
	env := models.Environment{Settings: models.Settings{
		RPOrigins: models.Strings{"https://bank.example"}, ReturnOrigins: models.Strings{"https://shop.example:8443", "http://localhost:3000"},
	}}
	for _, good := range []string{
		"https://bank.example", "https://bank.example/", "https://bank.example/a?b=c#d", "https://shop.example:8443/x",
		"http://localhost:3000/back",
	} {
		got, err := challenge.AllowedReturn(env, good)
		require.NoError(t, err, good)
		require.Equal(t, good, *got)
	}
	for _, other := range []string{"HTTPS://BANK.example", "https://bank.example:443"} {
		got, err := challenge.AllowedReturn(env, other)
		require.NoError(t, err, other)
		require.Equal(t, "https://bank.example", *got, "the form of browsers")
	}
	for _, bad := range []string{
		"https://evil.example/", "http://bank.example/", "https://bank.example:444/", "https://shop.example/", "//bank.example/", "/here",
		"bank.example", "https://bank.example@evil.example/", "https://user@bank.example/", "https://bank.example.evil.example/",
		`https://bank.example\@evil.example/`, "https:\\\\bank.example", "javascript:alert(1)//https://bank.example", "data:text/html,x",
		"https:bank.example", "https://bank.example\t.evil.example", "https://bank.example%2f@evil.example",
		"https://bank.example/" + string(make([]byte, 2000)),
	} {
		_, err := challenge.AllowedReturn(env, bad)
		require.Error(t, err, bad)
	}
	got, err := challenge.AllowedReturn(env, "")
	require.NoError(t, err)
	require.Nil(t, got)
}

// ticketOf is the ticket of a link, which stands in the fragment behind the challenge's id.
func ticketOf(t *testing.T, b *bundle, link challenge.Link, c models.Challenge) string {
	t.Helper()
	address, ticket, ok := strings.Cut(link.URL, "#")
	require.True(t, ok, link.URL)
	require.Equal(t, linkBase+c.ID, address)
	return ticket
}

func TestLinkStoresReturnURL(t *testing.T) {
	t.Parallel()
	b := setup(t)
	env, err := tenancy.GetEnvironment(t.Context(), b.Store.Q, b.Scope)
	require.NoError(t, err)
	back := env.RPOrigins[0] + "/payments/1"
	c := b.Challenge(life, "passkey")
	_, err = b.service.CreateLink(t.Context(), b.Principal("crd_1"), c.ID, challenge.LinkOptions{ReturnURL: "https://evil.example/"})
	require.True(t, problem.Is(err, problem.Unprocessable), "%v", err)
	link, err := b.service.CreateLink(t.Context(), b.Principal("crd_1"), c.ID, challenge.LinkOptions{ReturnURL: back})
	require.NoError(t, err)
	ticket := ticketOf(t, b, link, c)
	v, err := b.service.ByTicket(t.Context(), ticket, "")
	require.NoError(t, err)
	require.Equal(t, back, v.ReturnURL)
	require.Equal(t, 1, v.Passkeys)

	b.Exec("update environments set rp_origins = '{https://elsewhere.example}'")
	v, err = b.service.ByTicket(t.Context(), ticket, "")
	require.NoError(t, err)
	require.Empty(t, v.ReturnURL, "what the environment no longer allows is not offered")
}
