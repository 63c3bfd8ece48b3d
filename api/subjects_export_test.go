package api

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"
)

// endlessBody is an export that never ends.
type endlessBody struct {
	closed chan struct{}
	once   sync.Once
}

func (b *endlessBody) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func (b *endlessBody) Close() error {
	b.once.Do(func() { close(b.closed) })
	return nil
}

func TestExportEndsIfItIsNotRead(t *testing.T) {
	t.Parallel()
	body := &endlessBody{closed: make(chan struct{})}
	at := listening(t, func(app *fiber.App) {
		app.Get("/export", func(c *fiber.Ctx) error {
			c.Response().SetBodyStream(paced(body, c.Context().Conn(), 1<<30, 50*time.Millisecond), 1<<30)
			return nil
		})
	})
	conn, err := net.Dial("tcp", at)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = io.WriteString(conn, "GET /export HTTP/1.1\r\nHost: x\r\n\r\n")
	require.NoError(t, err)
	select {
	case <-body.closed:
	case <-time.After(time.Minute):
		require.Fail(t, "the export has not ended")
	}
}

func TestTimeToTakeGrowsWithTheExport(t *testing.T) {
	t.Parallel()
	require.Equal(t, time.Second, timeToTake(0, time.Second))
	require.Equal(t, 11*time.Second, timeToTake(10*exportPace, time.Second))
}
