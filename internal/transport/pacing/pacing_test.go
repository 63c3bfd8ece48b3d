package pacing_test

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/transport/pacing"
)

// A client that reads a little from time to time is too slow as well.
func TestBodyEndsIfItIsReadTooSlowly(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	t.Cleanup(func() { _, _ = near.Close(), far.Close() })
	body := pacing.New(io.NopCloser(bytes.NewReader(make([]byte, 1<<20))), near, time.Hour, 0)
	chunk := make([]byte, 1)
	_, err := body.Read(chunk)
	require.NoError(t, err)
	_, err = near.Write(chunk)
	require.ErrorContains(t, err, "timeout")
}
