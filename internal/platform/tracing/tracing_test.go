package tracing_test

import (
	"context"
	"math"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

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
