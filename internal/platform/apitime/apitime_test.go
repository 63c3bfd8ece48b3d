package apitime_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/apitime"
)

// Whatever number a client sends becomes a time that the API can print and read again.
func TestUnixIsAlwaysPrintable(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{
		0: "1970-01-01T00:00:00.000Z", 1795253400.25: "2026-11-21T09:30:00.250Z", 1795253400250: "2026-11-21T09:30:00.250Z", -0.5: "1969-12-31T23:59:59.500Z",
		-1e15: "0001-01-01T00:00:00.000Z", 1e15: "9999-12-31T23:59:59.000Z", 1e308: "9999-12-31T23:59:59.000Z", -math.MaxFloat64: "0001-01-01T00:00:00.000Z",
		253402300799999: "9999-12-31T23:59:59.000Z", 5e-324: "1970-01-01T00:00:00.000Z", math.Inf(1): "9999-12-31T23:59:59.000Z",
	} {
		text := apitime.Time(apitime.Unix(v))
		require.Equal(t, want, text, v)
		_, err := time.Parse(time.RFC3339, text)
		require.NoError(t, err)
	}
}
