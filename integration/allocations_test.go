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
	decisionObjects, decisionBytes = 231, 46_400
	frameObjects, frameBytes       = 319, 36_500
)

// rounds are the requests that one figure is the mean of. The least of many short figures counts: the rest of the process allocates from
// time to time, and each processor fills its own pools. Which requests these are is chance, and the bytes of a frame depend on what it
// holds, so that they get a wider tolerance than the objects.
const (
	rounds  = 5
	figures = 24
)

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
			raw := make([][]byte, (figures+1)*rounds)
			for i := range raw {
				raw[i] = rawRequest(t, w.Server, c.path, c.body(i))
			}
			conn := newRawConn(t, base)
			for _, r := range raw[:rounds] { // caches and pools fill
				conn.send(t, r)
			}
			least := conn.allocated(t, raw[rounds:2*rounds])
			for i := 2; i <= figures; i++ {
				next := conn.allocated(t, raw[i*rounds:(i+1)*rounds])
				least = allocated{min(least.objects, next.objects), min(least.bytes, next.bytes)}
			}
			t.Logf("%.1f objects, %.0f bytes", least.objects, least.bytes)
			require.InEpsilon(t, c.want.objects, least.objects, 0.03, "objects")
			require.InEpsilon(t, c.want.bytes, least.bytes, 0.08, "bytes")
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

// allocated is the mean of what requests allocate.
type allocated struct{ objects, bytes float64 }

// allocated returns what the process allocated for each of the requests.
func (c *rawConn) allocated(t *testing.T, requests [][]byte) allocated {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, r := range requests {
		c.send(t, r)
	}
	runtime.ReadMemStats(&after)
	n := float64(len(requests))
	return allocated{float64(after.Mallocs-before.Mallocs) / n, float64(after.TotalAlloc-before.TotalAlloc) / n}
}
