package api

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"
)

// Fiber reuses a connection's buffer for the next request, and its strings point into that buffer unless Immutable is set.
// Here they are passed to workflows, caches and logs, and must not change.
func TestRequestValuesOutliveTheRequest(t *testing.T) {
	t.Parallel()
	var held [][]string
	at := listening(t, func(app *fiber.App) {
		app.Post("/held/:name", func(c *fiber.Ctx) error {
			body := c.Body()
			held = append(held, []string{c.Params("name"), c.Query("q"), c.Get("X-Held"), c.Path(), c.OriginalURL(), c.Hostname(), string(body)})
			return c.SendStatus(fiber.StatusNoContent)
		})
	})
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
	t.Cleanup(client.CloseIdleConnections)
	words := []string{"first", "other", "third"}
	for _, word := range words {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, fmt.Sprintf("http://%s/held/%s?q=%s", at, word, word), bytes.NewBufferString(word))
		require.NoError(t, err)
		req.Host = word + ".example"
		req.Header.Set("X-Held", word)
		res, err := client.Do(req)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, http.StatusNoContent, res.StatusCode)
	}
	require.Len(t, held, len(words))
	for i, values := range held {
		for _, v := range values {
			require.Contains(t, v, words[i], "request %d holds %s", i, strings.Join(values, " "))
		}
	}
}
