package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/countersign-dev/countersign/proving/harness"
	"github.com/countersign-dev/countersign/proving/loadgen"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

const (
	openStreams = 1000
	streamRate  = 20 // events a second, each to every stream
	// manyStreams also configures the API's limit of streams per environment. Few events reach them: the memory of connections that
	// wait is measured.
	manyStreams     = 10_000
	manyStreamsRate = 1
	// manyStreamsMB is the memory that the API may need for them.
	manyStreamsMB = 400
	// watched is how many of the streams have their latencies taken; the rest are only read.
	watched = 20
)

// streamed is the name of both measurements of streams in the report.
const streamed = "decision to message"

// streams measures the time from a decision to its message on each of a
// thousand event streams of one process, and the memory of ten thousand.
func streams(ctx context.Context, b *bench) error {
	if err := harness.NewAction(ctx, b.sdk, "payment.allow", countersign.PolicyRequirements{CoverageMin: "none"}); err != nil {
		return err
	}
	all, err := b.people(ctx, subjects, false)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var reading sync.WaitGroup
	defer reading.Wait()
	defer cancel()
	l := &listening{}
	ask := newRequests("payment.allow", func(i int) string { return all[i%len(all)].subject })
	for _, x := range []struct {
		streams int
		rate    float64
	}{{openStreams, streamRate}, {manyStreams, manyStreamsRate}} {
		for i := l.streams; i < x.streams; i++ {
			conn, err := b.subscribe(ctx)
			if err != nil {
				return fmt.Errorf("stream %d: %w", i, err)
			}
			context.AfterFunc(ctx, func() { _ = conn.Close() })
			reading.Go(func() { l.read(conn, i < watched) })
			b.show("streams opened", i+1, x.streams)
		}
		l.streams = x.streams
		r, err := b.fanOut(ctx, l, x.rate, ask)
		if err != nil {
			return err
		}
		if x.streams == openStreams {
			b.memory("streams", r)
		} else {
			b.report.under(fmt.Sprintf("memory of the API: %d streams", x.streams), r.APIRSS, manyStreamsMB, "MB")
		}
	}
	return nil
}

// fanOut makes decisions and waits until every stream has received their messages. It fails if some do not arrive within a minute:
// latencies of those that did would say little.
func (b *bench) fanOut(ctx context.Context, l *listening, rate float64, ask *requests) (Row, error) {
	l.forget()
	before := b.usage(ctx)
	decided := loadgen.Open(ctx, rate, openClients, b.Lasts, func(context.Context, int) error { return b.allowed(ask.next()) })
	want := int64(decided.Done() * l.streams)
	for give := time.Now().Add(time.Minute); l.messages.Load() < want && time.Now().Before(give); {
		<-time.After(20 * time.Millisecond)
	}
	told := loadgen.Result{Elapsed: decided.Elapsed, Latencies: l.taken()}
	r := row("streams", streamed, fmt.Sprintf("%g/s to %d streams", rate, l.streams), told, b.usage(ctx).since(before))
	b.add(r)
	b.report.Notes = append(b.report.Notes, fmt.Sprintf("streams: %d of %d messages arrived; latencies are those of %d streams; the API has %.0f goroutines and %.1f kB of memory for each of %d streams.",
		l.messages.Load(), want, watched, r.Goroutines, 1024*r.APIRSS/float64(l.streams), l.streams))
	if l.messages.Load() < want {
		return r, fmt.Errorf("%d of %d messages arrived", l.messages.Load(), want)
	}
	return r, nil
}

// subscribe opens a stream and returns once the response has started. It
// uses a bare TCP connection: a thousand HTTP clients would use more memory
// and CPU than the service that is measured.
func (b *bench) subscribe(ctx context.Context) (net.Conn, error) {
	host := strings.TrimPrefix(b.rig.API.URL, "http://")
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", host)
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(conn, "GET /api/v1/events/stream?type=authorization.decided HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", host, b.tenant.Server); err != nil {
		return nil, err
	}
	status := make([]byte, len("HTTP/1.1 200"))
	if _, err := conn.Read(status); err != nil || string(status) != "HTTP/1.1 200" {
		return nil, fmt.Errorf("returned %q: %w", status, err)
	}
	return conn, nil
}

// listening counts the messages of all streams and collects the latencies
// of some.
type listening struct {
	streams  int
	messages atomic.Int64

	mu        sync.Mutex
	latencies []time.Duration
}

// taken returns a copy of the latencies.
func (l *listening) taken() []time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]time.Duration(nil), l.latencies...)
}

// forget begins a new count: streams stay open between two measurements,
// and messages of the first do not belong to the second.
func (l *listening) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.messages.Store(0)
	l.latencies = nil
}

// read counts messages until the connection ends. It skips the lines of the
// chunked encoding and the heartbeats.
func (l *listening) read(conn net.Conn, timed bool) {
	lines := bufio.NewReaderSize(conn, 4096)
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return
		}
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		if !ok {
			continue
		}
		l.messages.Add(1)
		var event struct{ At time.Time }
		if timed && json.Unmarshal(data, &event) == nil {
			l.mu.Lock()
			l.latencies = append(l.latencies, time.Since(event.At))
			l.mu.Unlock()
		}
	}
}
