package tracing_test

import (
	"context"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	metrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	metric "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"

	"github.com/countersign-dev/countersign/internal/platform/tracing"
)

func TestOffCostsAndSendsNothing(t *testing.T) {
	t.Parallel()
	provider, stop, err := tracing.Start(t.Context(), tracing.Options{})
	require.NoError(t, err)
	defer stop()
	require.True(t, tracing.Off(provider))
	require.True(t, tracing.Off(nil))
	_, span := provider.Tracer("t").Start(t.Context(), "s")
	require.False(t, span.IsRecording())
}

func TestSpansReachTheCollectorBeforeTheEnd(t *testing.T) {
	t.Parallel()
	var got atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/traces" {
			got.Add(1)
		}
	}))
	defer server.Close()
	provider, stop, err := tracing.Start(context.Background(), tracing.Options{Endpoint: server.URL, Ratio: 1, Service: "countersign-api"})
	require.NoError(t, err)
	require.False(t, tracing.Off(provider))
	_, span := provider.Tracer("t").Start(t.Context(), "s")
	span.End()
	stop()
	require.EqualValues(t, 1, got.Load())
}

// A collector gets the metrics that Prometheus reads, by the same names, at the latest when the process ends.
func TestMetricsReachTheCollectorBeforeTheEnd(t *testing.T) {
	t.Parallel()
	got := make(chan *metrics.ExportMetricsServiceRequest, 10)
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		var body metrics.ExportMetricsServiceRequest
		raw, err := io.ReadAll(in.Body)
		if err != nil || in.URL.Path != "/v1/metrics" || proto.Unmarshal(raw, &body) != nil {
			out.WriteHeader(http.StatusBadRequest)
			return
		}
		got <- &body
	}))
	defer server.Close()
	registry := prometheus.NewRegistry()
	counter := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "countersign_frames_total", Help: "Frames."}, []string{"status"})
	times := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "countersign_decision_seconds", Help: "Time.", Buckets: []float64{1, 2}})
	registry.MustRegister(counter, times)
	counter.WithLabelValues("accepted").Add(3)
	times.Observe(1.5)
	stop, err := tracing.StartMetrics(context.Background(), tracing.MetricOptions{Endpoint: server.URL, Service: "countersign-api", Version: "1.1.0", Metrics: registry})
	require.NoError(t, err)
	stop()
	require.NotEmpty(t, got)
	of := (<-got).GetResourceMetrics()[0]
	require.Equal(t, "countersign-api", of.GetResource().GetAttributes()[0].GetValue().GetStringValue())
	byName := map[string]*metric.Metric{}
	for _, scope := range of.GetScopeMetrics() {
		for _, m := range scope.GetMetrics() {
			byName[m.GetName()] = m
		}
	}
	frames := byName["countersign_frames_total"].GetSum()
	require.True(t, frames.GetIsMonotonic())
	require.InDelta(t, 3, frames.GetDataPoints()[0].GetAsDouble(), 0)
	require.Equal(t, "accepted", frames.GetDataPoints()[0].GetAttributes()[0].GetValue().GetStringValue())
	require.Equal(t, []uint64{0, 1, 0}, byName["countersign_decision_seconds"].GetHistogram().GetDataPoints()[0].GetBucketCounts())

	off, err := tracing.StartMetrics(context.Background(), tracing.MetricOptions{})
	require.NoError(t, err)
	off()
	_, err = tracing.StartMetrics(context.Background(), tracing.MetricOptions{Endpoint: "collector:4318"})
	require.ErrorContains(t, err, "the endpoint of metrics must be")
}

func TestWrongSettingsAreNamed(t *testing.T) {
	t.Parallel()
	for _, o := range []tracing.Options{
		{Endpoint: "collector:4318", Ratio: 1}, {Endpoint: "ftp://collector", Ratio: 1}, {Endpoint: "http://", Ratio: 1},
		{Endpoint: "http://collector:4318", Ratio: 1.1}, {Endpoint: "http://collector:4318", Ratio: -1}, {Endpoint: "http://collector:4318", Ratio: math.NaN()},
	} {
		_, _, err := tracing.Start(t.Context(), o)
		require.ErrorContains(t, err, "traces must be")
	}
}
