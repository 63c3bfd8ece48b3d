package integration_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// While one tenant floods the service, the requests of another tenant succeed.
func TestAdmissionIsFairAcrossTenants(t *testing.T) {
	t.Parallel()
	loud, quiet := newSandbox(t), newSandbox(t)
	_, loudAction := loud.action(t, "enforce", allowing)
	_, quietAction := quiet.action(t, "enforce", allowing)
	loudSubject, quietSubject := loud.subject(t), quiet.subject(t)
	b := newProxied(t)
	flooding, asking := loud.Server.at(b.url), quiet.Server.at(b.url)
	flooding.post(t, "/api/v1/authorize", request(loudSubject, loudAction)).is(200)
	asking.post(t, "/api/v1/authorize", request(quietSubject, quietAction)).is(200)

	b.database.Slow(10 * time.Millisecond)
	var shed atomic.Int64
	stop := make(chan struct{})
	var running sync.WaitGroup
	for range 360 { // more than the 32 concurrent requests and the queue of 256
		running.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(50 * time.Millisecond): // leaves the test some of the machine
				}
				if a, err := flooding.send("POST", "/api/v1/authorize", request(loudSubject, loudAction)); err == nil && a.status == http.StatusServiceUnavailable {
					shed.Add(1)
				}
			}
		})
	}
	eventually(t, func() bool { return shed.Load() > 20 }, "the flood exceeds the capacity")
	statuses := map[int]int{}
	for range 20 {
		a, err := asking.send("POST", "/api/v1/authorize", request(quietSubject, quietAction))
		require.NoError(t, err)
		statuses[a.status]++
	}
	close(stop)
	running.Wait()
	require.Equal(t, map[int]int{http.StatusOK: 20}, statuses)
}

// Exports whose clients do not read count against their own tenant only, and never delay decisions.
func TestUnreadExportsDelayNoOtherRequest(t *testing.T) {
	t.Parallel()
	idle, other := newSandbox(t), newSandbox(t)
	subject := idle.subject(t)
	session := idle.session(t, subject, "score", typist("idle"), 1)
	_, err := shared.Store.Pool().Exec(t.Context(), `insert into frames (session_id, frame_id, environment_id, subject_uid, purpose, status,
		reason_codes, received_at, at, duration_ms, digest, vector)
		select session_id, 'copy-' || n || '-' || frame_id, environment_id, subject_uid, purpose, status, reason_codes, received_at, at, duration_ms,
		digest, vector from frames, generate_series(1, 8000) n where session_id = $1`, session)
	require.NoError(t, err)
	_, action := idle.action(t, "enforce", allowing)
	for range 2 {
		idle.beginExport(t, subject)
	}
	concurrently(40, func(int) {
		// These wait in the queue. Their responses do not matter here.
		conn := exportRequest(t, idle.Server, subject)
		t.Cleanup(func() { _ = conn.Close() })
	})
	for range 20 {
		idle.Server.post(t, "/api/v1/authorize", request(subject, action)).is(200)
	}
	other.Server.post(t, "/api/v1/subjects/"+other.subject(t)+"/export", nil).is(200)
}

// beginExport requests an export and reads only its status line.
func (w world) beginExport(t *testing.T, subject string) {
	t.Helper()
	conn := exportRequest(t, w.Server, subject)
	t.Cleanup(func() { _ = conn.Close() })
	line := make([]byte, len("HTTP/1.1 200"))
	_, err := io.ReadFull(conn, line)
	require.NoError(t, err)
	require.Equal(t, "HTTP/1.1 200", string(line))
}

func exportRequest(t *testing.T, c caller, subject string) net.Conn {
	t.Helper()
	u, err := url.Parse(c.base)
	require.NoError(t, err)
	conn, err := net.Dial("tcp", u.Host)
	require.NoError(t, err)
	require.NoError(t, conn.(*net.TCPConn).SetReadBuffer(4<<10))
	_, err = fmt.Fprintf(conn, "POST /api/v1/subjects/%s/export HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: 0\r\n\r\n", subject, c.key)
	require.NoError(t, err)
	return conn
}
