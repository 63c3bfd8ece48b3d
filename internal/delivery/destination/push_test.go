package destination_test

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	logs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	"google.golang.org/protobuf/proto"

	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/delivery/destination"
	"github.com/countersign-dev/countersign/models"
)

// A batch that is refused waits, whatever the refusal: the destination says the error and is not moved past it.
func TestRefusedBatchesWait(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind   models.DestinationKind
		answer func(out http.ResponseWriter)
		fault  string
		wait   time.Duration // until the next attempt, about
	}{
		"unauthorized": {models.DestinationHTTPS, func(out http.ResponseWriter) { out.WriteHeader(http.StatusUnauthorized) }, "The receiver responded with status 401.", 0},
		"asks for time": {models.DestinationHTTPS, func(out http.ResponseWriter) {
			out.Header().Set("Retry-After", "1800")
			out.WriteHeader(http.StatusTooManyRequests)
		}, "The receiver responded with status 429.", 30 * time.Minute},
		"asks for a day": {models.DestinationHTTPS, func(out http.ResponseWriter) {
			out.Header().Set("Retry-After", "86400")
			out.WriteHeader(http.StatusServiceUnavailable)
		}, "The receiver responded with status 503.", time.Hour},
		"redirect": {models.DestinationHTTPS, func(out http.ResponseWriter) {
			out.Header().Set("Location", "http://127.0.0.1:1/")
			out.WriteHeader(http.StatusTemporaryRedirect)
		}, "The receiver responded with status 307.", 0},
		"part of a batch": {models.DestinationOTLP, func(out http.ResponseWriter) {
			raw, _ := proto.Marshal(&logs.ExportLogsServiceResponse{PartialSuccess: &logs.ExportLogsPartialSuccess{RejectedLogRecords: 2}})
			_, _ = out.Write(raw)
		}, "The receiver rejected 2 records of the batch.", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) { c.answer(out) }))
			t.Cleanup(server.Close)
			w.set(change.Destination{Name: "siem", Kind: c.kind, URL: server.URL, Since: &time.Time{}})
			w.log(3)
			w.run(w.service)
			d := w.until(func(d destination.Destination) bool { return d.LastError != nil })
			require.Equal(t, c.fault, *d.LastError)
			require.Zero(t, d.Position)
			require.Greater(t, time.Until(d.NextAttemptAt), c.wait-time.Minute)
			require.Less(t, time.Until(d.NextAttemptAt), c.wait+time.Minute)
		})
	}
}

// A receiver that takes fewer bytes than a batch has is sent smaller ones, in order. What is older than asked for is passed over.
func TestBatchesFitTheReceiver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var mu sync.Mutex
	var largest, total int
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		raw, err := io.ReadAll(in.Body)
		var list []json.RawMessage
		if err != nil || json.Unmarshal(raw, &list) != nil {
			out.WriteHeader(http.StatusBadRequest)
			return
		}
		if len(list) > 100 {
			out.WriteHeader(http.StatusRequestEntityTooLarge)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		largest, total = max(largest, len(list)), total+len(list)
	}))
	t.Cleanup(server.Close)
	later := noon.Add(time.Second)
	w.set(change.Destination{Name: "siem", Kind: models.DestinationHTTPS, URL: server.URL, Encoding: destination.EncodingArray, Since: &later})
	w.log(300) // at noon
	w.set(change.Destination{Name: "siem", Kind: models.DestinationHTTPS, URL: server.URL, Encoding: destination.EncodingArray, Since: &noon})
	w.log(1)
	w.run(w.service)
	last := w.until(func(d destination.Destination) bool { return d.Behind == 0 })
	mu.Lock()
	defer mu.Unlock()
	require.EqualValues(t, last.Position, total)
	require.LessOrEqual(t, largest, 100)
	require.Nil(t, last.LastError)
}

// A syslog server has the entries in frames, and confirms them by its own close_notify: without one they are sent again.
func TestSyslogIsConfirmedByTheServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ca := newAuthority(t)
	cert, key := ca.leaf()
	pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	received := make(chan []string, 100)
	go func() {
		for n := 0; ; n++ {
			raw, err := listener.Accept()
			if err != nil {
				return
			}
			conn := tls.Server(raw, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
			messages := frames(conn)
			if n > 0 { // the first connection ends without a close_notify
				received <- messages
				_ = conn.Close()
			}
			_ = raw.Close()
		}
	}()
	w.set(change.Destination{Name: "siem", Kind: models.DestinationSyslog, URL: "tls://localhost:" + strconv.Itoa(listener.Addr().(*net.TCPAddr).Port), CA: ca.PEM, Since: &time.Time{}})
	w.log(2)
	w.run(w.service)
	d := w.until(func(d destination.Destination) bool { return d.Behind == 0 })
	require.Nil(t, d.LastError)
	messages := <-received
	require.Len(t, messages, int(d.Position))
	form := regexp.MustCompile(`^<\d{3}>1 2026-\d\d-\d\dT[0-9:.]+Z countersign\.example countersign - [a-z_.]{1,32} - (\{.*\})$`)
	exported := messages[len(messages)-1]
	require.Regexp(t, form, exported)
	require.True(t, strings.HasPrefix(exported, "<109>1 2026-03-01T12:00:00.000000Z countersign.example countersign - audit.exported - {"), exported)
	var event map[string]any
	require.NoError(t, json.Unmarshal([]byte(form.FindStringSubmatch(exported)[1]), &event))
	require.Equal(t, "1.8.0", event["metadata"].(map[string]any)["version"])
}

// frames reads the messages of a connection until the client ends it (RFC 5425, section 4.3).
func frames(conn io.Reader) (messages []string) {
	in := bufio.NewReader(conn)
	for {
		length, err := in.ReadString(' ')
		if err != nil {
			return messages
		}
		n, err := strconv.Atoi(strings.TrimSpace(length))
		if err != nil {
			return append(messages, fmt.Sprintf("the length is %q", length))
		}
		message := make([]byte, n)
		if _, err := io.ReadFull(in, message); err != nil {
			return messages
		}
		messages = append(messages, string(message))
	}
}
