package reviews

import (
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/sso"
	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events/stream"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web/console/shell"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// No stream receives the notification of a session that ended before the subscription began: the hub of this test does not listen.
func TestStreamIsRefusedIfTheSessionEndedBeforeTheSubscription(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	env := storetest.Environment(t, st, models.Live)
	ring, err := keyring.Parse(keyring.Generate())
	require.NoError(t, err)
	c := &Pages{
		Shell: &shell.Shell{Clock: clock.System(), People: staff.New(st, ring, clock.System(), "https://console.example")},
		Hub:   stream.NewHub(st, clock.System(), slog.New(slog.DiscardHandler), stream.Options{}),
	}
	t.Cleanup(c.Hub.Stop)
	provider := models.IdentityProvider{ID: "idp_1", TenantID: env.TenantID, Name: "corp", Issuer: "https://idp.example", ClientID: "x",
		Scopes: models.Strings{}, Grants: models.JSON("[]"), CreatedAt: noon, UpdatedAt: noon}
	require.NoError(t, sso.CreateIdentityProvider(t.Context(), st.Q, provider))
	opened, err := c.People.SignInFrom(t.Context(), staff.Account{
		Provider: provider, Subject: "subject-1", Name: "Ann", SignIn: []byte("sign-in"),
		Roles: map[string][]models.Role{env.ID: {models.RoleReviewer}},
	}, "req_1")
	require.NoError(t, err)
	grant, ok := opened.Session.Grant(env.ID)
	require.True(t, ok)

	app := fiber.New(fiber.Config{DisableStartupMessage: true, Immutable: true, ErrorHandler: func(f *fiber.Ctx, err error) error {
		return f.SendStatus(problem.Of(request.ProblemOf(err).Code).Status)
	}})
	app.Server().KeepHijackedConns = true
	app.Get("/stream", func(f *fiber.Ctx) error { // authenticated before
		return c.stream(&shell.Visit{Ctx: f, Shell: c.Shell, Context: request.Context(f), Session: opened.Session, Grant: grant})
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = app.Listener(l) }()
	t.Cleanup(func() { _ = app.ShutdownWithTimeout(time.Second) })
	follow := func() int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+l.Addr().String()+"/stream", nil)
		require.NoError(t, err)
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		t.Cleanup(func() { _ = res.Body.Close() })
		return res.StatusCode
	}

	require.Equal(t, http.StatusOK, follow())
	require.NoError(t, c.People.SignOut(t.Context(), opened.Session, "req_2"))
	require.Equal(t, http.StatusUnauthorized, follow())
	require.Equal(t, 1, c.Hub.Count(), "the refused stream has ended")
}
