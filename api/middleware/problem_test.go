package middleware

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/api/metrics"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// failing returns an application whose only handler returns the error of fail, behind the middleware of every request.
func failing(t *testing.T, fail func() error) (*fiber.App, *strings.Builder) {
	t.Helper()
	log := &strings.Builder{}
	m, err := New(t.Context(), Config{}, Deps{Log: slog.New(slog.NewTextHandler(log, nil)), Metrics: metrics.New(prometheus.NewRegistry())})
	require.NoError(t, err)
	app := fiber.New(fiber.Config{DisableStartupMessage: true, ErrorHandler: m.WriteProblem})
	app.Use(m.observe)
	app.Get("/", func(*fiber.Ctx) error { return fail() })
	return app, log
}

func ask(t *testing.T, app *fiber.App) (*http.Response, []byte) {
	t.Helper()
	res, err := app.Test(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), -1)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NotEmpty(t, res.Header.Get("X-Request-Id"))
	return res, body
}

func TestWriteProblemForEveryCode(t *testing.T) {
	t.Parallel()
	for code, kind := range problem.Catalogue() {
		t.Run(string(code), func(t *testing.T) {
			t.Parallel()
			app, _ := failing(t, func() error {
				return &problem.Error{Code: code, Detail: "What happened.", Cause: errors.New("secret cause"), RetryAfter: 1500 * time.Millisecond}
			})
			res, body := ask(t, app)
			require.Equal(t, kind.Status, res.StatusCode)
			require.Equal(t, "2", res.Header.Get("Retry-After"), "whole seconds, rounded up")
			require.NotContains(t, string(body), "secret")
			if code == problem.Unprocessable {
				require.Contains(t, string(body), `"detail":`)
				return
			}
			var p problemBody
			require.NoError(t, json.Unmarshal(body, &p))
			require.Equal(t, problemJSON, res.Header.Get("Content-Type"))
			require.Equal(t, problemBody{
				Type: "/docs/errors#" + string(code), Title: kind.Title, Status: kind.Status, Detail: "What happened.", Code: code,
				RequestID: res.Header.Get("X-Request-Id"),
			}, p)
		})
	}
}

// An error that is not a problem of the domain, or a panic, is a 500 without its text, which goes to the log. The next request
// is handled.
func TestUnknownErrorsAndPanicsShowNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fail func() error
		code problem.Code
	}{
		"an error":  {func() error { return errors.New(`pq: relation "secrets" does not exist`) }, problem.Internal},
		"a panic":   {func() error { panic(`pq: relation "secrets" does not exist`) }, problem.Internal},
		"not found": {func() error { return pg.ErrNotFound }, problem.NotFound},
		"no method": {func() error { return fiber.ErrMethodNotAllowed }, problem.MethodNotAllowed},
		"too large": {func() error { return fiber.ErrRequestEntityTooLarge }, problem.BodyTooLarge},
		"unread":    {func() error { return fiber.ErrBadRequest }, problem.BadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app, log := failing(t, c.fail)
			for range 2 {
				res, body := ask(t, app)
				require.Equal(t, problem.Of(c.code).Status, res.StatusCode)
				require.Contains(t, string(body), `"code":"`+string(c.code)+`"`)
				require.NotContains(t, string(body), "secrets")
				require.NotContains(t, string(body), "goroutine")
			}
			if c.code == problem.Internal {
				require.Equal(t, 2, strings.Count(log.String(), `msg="request failed"`))
				require.Contains(t, log.String(), "secrets")
			}
		})
	}
}
