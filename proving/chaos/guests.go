package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
	"github.com/countersign-dev/countersign/proving/harness"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// Misuse of the service that breaks no part of it. No fault is injected
// meanwhile, so that every effect on other tenants comes from the misuse.
const (
	unreadExports  = 80 // above the requests that a process works on at once
	exported       = "person-exported"
	exportedFrames = 8000
	floodClients   = 400 // above what is worked on and what may wait for it
	floodLasts     = 3 * time.Second
	keyLasts       = 5 * time.Second
	streamPatience = 45 * time.Second // an expired key's stream ends within what a revoked key needs, and a heartbeat
	probesEach     = 20
	probePatience  = 10 * time.Second
	smallestBuffer = 2048 // bytes of a client's receive buffer: what it does not read stays with the service
)

// misuse runs each kind of misuse while the first tenant sends requests.
func (w *world) misuse(ctx context.Context, d *disturber) error {
	guest, err := w.rig.NewTenant(ctx, "Guest")
	if err != nil {
		return err
	}
	var stream sync.WaitGroup
	stream.Go(func() { w.expire(ctx) })
	d.say("a stream whose key expires")
	d.done["stream of an expiring key"]++
	for _, fault := range []struct {
		name string
		run  func(ctx context.Context, guest harness.Tenant) (Misuse, error)
	}{{"exports without a reader", w.leaveExportsUnread}, {"a tenant that floods", w.flood}} {
		d.say("%s", fault.name)
		d.done[fault.name]++
		m, err := fault.run(ctx, guest)
		if err != nil {
			return fmt.Errorf("%s: %w", fault.name, err)
		}
		m.Name = fault.name
		w.journal.write(func() { w.journal.Misused = append(w.journal.Misused, m) })
	}
	stream.Wait()
	return ctx.Err()
}

// probe requests decisions as the first tenant, one after the other, each
// once. They are recorded in the journal like all others.
func (w *world) probe(m *Misuse) {
	c := *w.clients[0]
	c.http = harness.NewRawClient(w.rig.API.URL, w.tenant.Server, probePatience)
	for range probesEach {
		m.Asked++
		if c.decidedAtOnce() {
			m.Decided++
		}
	}
}

// leaveExportsUnread requests exports and reads no more than the first line
// of each response.
func (w *world) leaveExportsUnread(ctx context.Context, _ harness.Tenant) (Misuse, error) {
	if err := w.fill(ctx); err != nil {
		return Misuse{}, err
	}
	var (
		mu   sync.Mutex
		all  sync.WaitGroup
		m    Misuse
		held []net.Conn
	)
	for range unreadExports {
		all.Go(func() {
			conn, opened := w.unread(ctx)
			mu.Lock()
			defer mu.Unlock()
			if conn != nil {
				held = append(held, conn)
			}
			if opened {
				m.Effective++
			}
		})
	}
	w.probe(&m) // while some wait for their first line, and some are left unread
	all.Wait()
	w.probe(&m)
	for _, conn := range held {
		_ = conn.Close()
	}
	return m, nil
}

// fill gives a subject so much evidence that its export does not fit into
// the buffers of a connection: one frame, and copies of its row.
func (w *world) fill(ctx context.Context) error {
	session, err := newSubject(ctx, w.sdk, exported)
	if err != nil {
		return err
	}
	typist := synthetic.NewTypist(w.Seed + 1<<20)
	frames, err := texts(1, func() features.Frame { return typist.Frame(80) })
	if err != nil {
		return err
	}
	c := *w.clients[0]
	c.frames, c.sessions = frames, []string{session}
	c.evidence()
	conn, err := pgx.Connect(ctx, w.rig.DatabaseURL())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	copied, err := conn.Exec(ctx, `insert into frames (session_id, frame_id, environment_id, subject_uid, purpose, status, reason_codes, received_at, at,
		duration_ms, digest, vector) select session_id, 'copy-' || n || '-' || frame_id, environment_id, subject_uid, purpose, status, reason_codes,
		received_at, at, duration_ms, digest, vector from frames, generate_series(1, $2) n where session_id = $1`, session, exportedFrames)
	if err == nil && copied.RowsAffected() != exportedFrames {
		err = fmt.Errorf("of the frames to export %d are there", copied.RowsAffected())
	}
	return err
}

// unread requests an export and waits for the first line of the response.
// It reports whether the status is 200.
func (w *world) unread(ctx context.Context) (net.Conn, bool) {
	dialer := net.Dialer{Timeout: probePatience, Control: func(_, _ string, raw syscall.RawConn) error {
		var failed error
		err := raw.Control(func(fd uintptr) {
			failed = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, smallestBuffer)
		})
		return errors.Join(err, failed)
	}}
	conn, err := dialer.DialContext(ctx, "tcp", strings.TrimPrefix(w.rig.API.URL, "http://"))
	if err != nil {
		return nil, false
	}
	_ = conn.SetDeadline(time.Now().Add(2 * probePatience))
	_, _ = fmt.Fprintf(conn, "POST /api/v1/subjects/%s/export HTTP/1.1\r\nHost: countersign\r\nAuthorization: Bearer %s\r\nContent-Length: 0\r\n\r\n", exported, w.tenant.Admin)
	const ok = "HTTP/1.1 200"
	first := make([]byte, len(ok))
	_, err = io.ReadFull(conn, first)
	return conn, err == nil && string(first) == ok
}

// flood sends as many requests as possible as a different tenant.
func (w *world) flood(ctx context.Context, guest harness.Tenant) (Misuse, error) {
	setup, err := harness.NewSDK(w.rig.API.URL, guest.Server, setupTimeout)
	if err != nil {
		return Misuse{}, err
	}
	if err := harness.NewAction(ctx, setup, "payment.allow", policies["allow"]); err != nil {
		return Misuse{}, err
	}
	if _, err := setup.CreateSubject(ctx, &countersign.SubjectCreate{ID: "person-0"}); err != nil {
		return Misuse{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, floodLasts)
	defer cancel()
	var (
		mu  sync.Mutex
		all sync.WaitGroup
		m   Misuse
	)
	flooding := harness.NewRawClient(w.rig.API.URL, guest.Server, probePatience)
	for range floodClients {
		all.Go(func() {
			for ctx.Err() == nil {
				a, err := flooding.Do("POST", "/api/v1/authorize", question("person-0", "allow"))
				if err != nil {
					continue
				}
				mu.Lock()
				m.Effective++
				mu.Unlock()
				if a.Status != http.StatusOK && (a.RetryAfter == "" || (a.Status != http.StatusServiceUnavailable && a.Status != http.StatusTooManyRequests)) {
					w.journal.odd("a flooding tenant was returned status %d: %s", a.Status, a.Body)
					return
				}
			}
		})
	}
	w.probe(&m)
	all.Wait()
	return m, nil
}

// expire opens a stream with a key that expires soon, and opens it again
// once the key has expired.
func (w *world) expire(ctx context.Context) {
	s := Expired{}
	defer func() { w.journal.write(func() { w.journal.Expired = append(w.journal.Expired, s) }) }()
	expires := time.Now().Add(keyLasts).UTC().Truncate(time.Millisecond)
	key, err := w.admin.CreateCredential(ctx, countersign.CredentialCreate{Scope: "server", Name: "Expiring", ExpiresAt: &expires})
	if err != nil {
		w.journal.odd("an expiring key: %v", err)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, streamPatience)
	defer cancel()
	res, err := harness.OpenStream(ctx, w.rig.API.URL, key.Key)
	if err != nil {
		w.journal.odd("a stream of an expiring key: %v", err)
		return
	}
	s.Opened = res.StatusCode
	_, _ = io.Copy(io.Discard, res.Body) // until the service ends it, or patience does
	_ = res.Body.Close()
	s.Ended = ctx.Err() == nil
	again, err := harness.OpenStream(context.WithoutCancel(ctx), w.rig.API.URL, key.Key)
	if err != nil {
		w.journal.odd("a stream of an expired key: %v", err)
		return
	}
	s.Again = again.StatusCode
	_ = again.Body.Close()
}
