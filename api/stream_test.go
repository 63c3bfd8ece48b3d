package api

import (
	"net/http/httptest"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/transport/request"
)

func TestStreamRefusesAnUnknownEventType(t *testing.T) {
	t.Parallel()
	var refused error
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Get("/stream", func(c *fiber.Ctx) error {
		refused = (&streamHandlers{}).follow(c)
		return nil
	})
	res, err := app.Test(httptest.NewRequestWithContext(t.Context(), fiber.MethodGet, "/stream?type=no.such", nil), -1)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, problem.Unprocessable, request.ProblemOf(refused).Code)
}
