//go:build !race

package integration_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/cmd/countersign/wiring"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/workflows"
)

// The objects and bytes that the service allocates for one whole request, from the bytes of its connection to those of its response: an
// allowed decision with its proof about an enrolled subject, and a frame of such a subject. make bench shows the same.
const (
	decisionObjects, decisionBytes = 1348, 136_800
	frameObjects, frameBytes       = 1000, 91_400
)

// counted is how many requests are counted, each by itself. What a fifth of them stay below is the figure: the rest of the process
// allocates from time to time, each processor fills its own pools, and a frame's bytes depend on what it holds.
const counted = 120

// Not in parallel: the allocations of the whole process are counted. Not with the race detector, which empties pools at random; nor does
// the garbage collector run, which empties them too. Fewer objects fail as well, so that the number is lowered with them.
func TestRequestsAllocateTheSame(t *testing.T) {
	percent := debug.SetGCPercent(-1)
	t.Cleanup(func() { debug.SetGCPercent(percent) })
	w := newSandbox(t)
	who := typist("allocations")
	subject := w.enrolled(t, who)
	session := w.session(t, subject, "score", who, 3)
	_, action := w.action(t, "enforce", object{"coverage_min": "partial", "freshness_max_ms": 3_600_000})
	start, base := time.Now().Add(-time.Hour), untraced(t)
	for _, c := range []struct {
		name, path string
		want       allocated
		body       func(i int) object
	}{
		{"decision", "/api/v1/authorize", allocated{decisionObjects, decisionBytes}, func(int) object {
			return with(request(subject, action), object{"context": object{"amount": "1250.00", "currency": "EUR"}})
		}},
		{"frame", "/api/v1/sessions/" + session + "/evidence", allocated{frameObjects, frameBytes}, func(i int) object {
			return with(evidence(who, "score", start, i), object{"frame_id": rand.Text()})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn := newRawConn(t, base)
			objects, bytes := make([]float64, counted), make([]float64, counted)
			for i := range counted {
				objects[i], bytes[i] = conn.allocated(t, rawRequest(t, w.Server, c.path, c.body(i)))
			}
			slices.Sort(objects)
			slices.Sort(bytes)
			got := allocated{objects[counted/5], bytes[counted/5]}
			t.Logf("%.0f objects, %.0f bytes", got.objects, got.bytes)
			require.InEpsilon(t, c.want.objects, got.objects, 0.03, "objects")
			require.InEpsilon(t, c.want.bytes, got.bytes, 0.05, "bytes")
		})
	}
}

// untraced starts an API on the shared database whose statements nothing records, and returns its address.
func untraced(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	base := "http://" + listener.Addr().String()
	ctx := context.WithoutCancel(t.Context())
	core, err := wiring.Open(ctx, wiring.Settings{Log: shared.log, Clock: clock.System(), DatabaseURL: shared.database, Keys: shared.keys, BaseURL: base})
	require.NoError(t, err)
	t.Cleanup(core.Close)
	p, err := wiring.New(core, wiring.Options{Temporal: workflows.DialOptions{Address: shared.address, Namespace: shared.namespace}})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	stop, err := p.StartAPI(ctx, make(chan error, 1), listener)
	require.NoError(t, err)
	t.Cleanup(stop)
	return base
}

// rawRequest returns a request as it is sent.
func rawRequest(t *testing.T, c caller, path string, body object) []byte {
	t.Helper()
	text, err := json.Marshal(body)
	require.NoError(t, err)
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		path, c.key, len(text), text)
}

// rawConn is a connection whose use allocates nothing, so that what is counted is the service's.
type rawConn struct {
	net.Conn
	in *bufio.Reader
}

func newRawConn(t *testing.T, base string) *rawConn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &rawConn{conn, bufio.NewReaderSize(conn, 64<<10)}
}

var (
	statusOK      = []byte("HTTP/1.1 200 ")
	contentLength = []byte("Content-Length: ")
)

// send sends a request and reads its response, which must have the status 200.
func (c *rawConn) send(t *testing.T, request []byte) {
	_, err := c.Write(request)
	require.NoError(t, err)
	length := 0
	for first := true; ; first = false {
		line, err := c.in.ReadSlice('\n')
		require.NoError(t, err)
		if first && !bytes.HasPrefix(line, statusOK) {
			require.Fail(t, http.StatusText(http.StatusOK), "%s", line)
		}
		if digits, is := bytes.CutPrefix(line, contentLength); is {
			for _, d := range bytes.TrimSpace(digits) {
				length = 10*length + int(d-'0')
			}
		}
		if len(line) == 2 {
			break
		}
	}
	_, err = io.CopyN(io.Discard, c.in, int64(length))
	require.NoError(t, err)
}

// allocated are the objects and bytes that a request allocates.
type allocated struct{ objects, bytes float64 }

// allocated returns what the process allocated for a request.
func (c *rawConn) allocated(t *testing.T, request []byte) (objects, bytes float64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c.send(t, request)
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs - before.Mallocs), float64(after.TotalAlloc - before.TotalAlloc)
}
