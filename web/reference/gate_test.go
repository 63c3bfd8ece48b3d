package reference

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/admission"
	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// Readers beyond those that may wait are refused at once, and a waiting one is made once the last is done.
func TestPagesAreMadeOneAtATime(t *testing.T) {
	t.Parallel()
	s := &section{gate: admission.New(1, 1, 0), load: func() error { return nil }}
	app := fiber.New(fiber.Config{ErrorHandler: func(c *fiber.Ctx, err error) error {
		p := problem.As(err)
		return c.Status(problem.Of(p.Code).Status).SendString(p.RetryAfter.String())
	}})
	app.Get("/", s.loaded(func(c *fiber.Ctx) error { return c.SendString("page") }))
	const reader = "0.0.0.0"
	require.NoError(t, s.gate.Enter(t.Context(), reader, time.Second), "a page is being made")
	ctx, cancel := context.WithCancel(t.Context())
	waits := make(chan error)
	go func() { waits <- s.gate.Enter(ctx, reader, time.Minute) }()
	require.Eventually(t, func() bool {
		answer, err := app.Test(httptest.NewRequest(http.MethodGet, "/", nil), -1)
		return err == nil && answer.Body.Close() == nil && answer.StatusCode == http.StatusTooManyRequests
	}, 30*time.Second, time.Millisecond, "one more waits, and no further one")
	cancel()
	require.Error(t, <-waits)
	s.gate.Leave(reader)
	answer, err := app.Test(httptest.NewRequest(http.MethodGet, "/", nil), -1)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.NoError(t, answer.Body.Close())
}
