package middleware

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/countersign-dev/countersign/internal/platform/tracing"
)

func TestTraceparentIsReadByTheStandard(t *testing.T) {
	t.Parallel()
	const id, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	for header, valid := range map[string]bool{
		"00-" + id + "-" + parent + "-01":                              true,
		"00-" + id + "-" + parent + "-ff":                              true,
		"cc-" + id + "-" + parent + "-01":                              true,
		"cc-" + id + "-" + parent + "-01-what-the-future-will-be-like": true,
		"":                                  false,
		"00-" + id + "-" + parent + "-01-x": false,
		"cc-" + id + "-" + parent + "-01.x": false,
		"ff-" + id + "-" + parent + "-01":   false,
		"00-" + strings.Repeat("0", 32) + "-" + parent + "-01": false,
		"00-" + id + "-" + strings.Repeat("0", 16) + "-01":     false,
		"00-" + id + "-" + parent + "-0":                       false,
		"00-" + id + "-" + parent + "-0x":                      false,
		"0-" + id + "-" + parent + "-01":                       false,
		"00-" + strings.ToUpper(id) + "-" + parent + "-01":     false,
		"00-" + id + "-" + strings.ToUpper(parent) + "-01":     false,
		"00-" + id[1:] + "-" + parent + "-01":                  false,
		"00_" + id + "_" + parent + "_01":                      false,
		"00-" + id:                                             false,
	} {
		require.Equal(t, valid, validTraceparent(header), header)
	}
	require.Equal(t, id, traceID("00-"+id+"-"+parent+"-01"))
	require.Len(t, traceID(""), 32)
}

// Whatever header is taken as valid, the tracing library reads with the same trace id.
func FuzzTraceparent(f *testing.F) {
	const id, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	for _, seed := range []string{"", "00-" + id + "-" + parent + "-01", "cc-" + id + "-" + parent + "-01-x", "ff-" + id + "-" + parent + "-01", "00-" + id + "-" + parent + "-01, 00-" + id} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		if !validTraceparent(header) {
			return
		}
		ctx := tracing.Propagator.Extract(t.Context(), propagation.MapCarrier{"traceparent": header})
		require.Equal(t, traceID(header), trace.SpanContextFromContext(ctx).TraceID().String(), "%q", header)
	})
}
