package integration_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/countersign-dev/countersign/cmd/countersign/wiring"
)

// tracedReplica starts an API on the shared data and collects its spans.
func tracedReplica(t *testing.T) (base string, spans *tracetest.InMemoryExporter) {
	t.Helper()
	spans = tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	return replica(t, wiring.Settings{Log: shared.log, Tracing: provider}), spans
}

// One trace continues from the caller's traceparent to SQL and Temporal. It contains no subject ids.
func TestTraceFollowsARequest(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", challenging)
	subject := w.subject(t)
	asked := w.authorize(t, subject, action, "challenge")
	base, spans := tracedReplica(t)
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	server := caller{base: base, key: w.Server.key}.with("traceparent", "00-"+trace+"-00f067aa0ba902b7-01")
	server.post(t, "/api/v1/challenges/"+asked.string("challenge.id")+"/complete", object{"method": "sandbox_confirm"}).is(200)
	server.get(t, "/api/v1/subjects/"+subject).is(200)
	server.get(t, "/api/v1/subjects/unknown-canary").is(404)

	names := map[string]int{}
	for _, span := range spans.GetSpans() {
		if span.SpanContext.TraceID().String() != trace {
			continue // background loops of the process
		}
		names[strings.SplitN(span.Name, " ", 2)[0]]++
		for _, a := range span.Attributes {
			for _, canary := range []string{subject, "unknown-canary", w.Server.key} {
				require.NotContains(t, a.Value.String(), canary, "%s of %s", a.Key, span.Name)
			}
		}
	}
	require.Equal(t, 1, names["completeChallenge"], "%v", names)
	require.Equal(t, 2, names["getSubject"], "%v", names)
	require.NotZero(t, names["query"]+names["prepare"]+names["SELECT"]+names["select"], "statements: %v", names)
	require.True(t, hasPrefix(names, "Update") || hasPrefix(names, "Start"), "Temporal: %v", names)
}

func hasPrefix(names map[string]int, prefix string) bool {
	for name := range names {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// trace_id of the response is the id of the trace, so that an operator finds the spans of a decision.
func TestAuthorizeReturnsItsTraceID(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", object{"coverage_min": "none"})
	base, spans := tracedReplica(t)
	decided := caller{base: base, key: w.Server.key}.post(t, "/api/v1/authorize", request(w.subject(t), action)).is(200)
	for _, span := range spans.GetSpans() {
		if span.Name == "authorize" {
			require.Equal(t, decided.string("trace_id"), span.SpanContext.TraceID().String())
			return
		}
	}
	require.Fail(t, "no span of the request", fmt.Sprint(spans.GetSpans()))
}

// The trace goes on behind the outbox: a webhook carries the trace of the request that caused its event, and nothing of one that is not exported.
func TestTraceReachesTheWebhook(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", object{"coverage_min": "none"})
	subject := w.subject(t)
	parents := make(chan string, 16)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { parents <- r.Header.Get("traceparent") }))
	t.Cleanup(receiver.Close)
	w.Admin.post(t, "/api/v1/webhook-endpoints", object{"url": receiver.URL, "events": []string{"authorization.decided"}}).is(201)
	base, _ := tracedReplica(t)
	const trace = "0af7651916cd43dd8448eb211c80319c"
	for flags, want := range map[string]string{"01": trace, "00": ""} {
		server := caller{base: base, key: w.Server.key}.with("traceparent", "00-"+trace+"-b7ad6b7169203331-"+flags)
		server.post(t, "/api/v1/authorize", request(subject, action)).is(200)
		select {
		case parent := <-parents:
			require.Contains(t, parent, want, flags)
			require.Equal(t, want == "", parent == "", flags)
		case <-time.After(patience):
			require.Fail(t, "no webhook")
		}
	}
}
