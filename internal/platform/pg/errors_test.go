package pg_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// Only errors that a retry may fix count as unavailable. A fault of ours must be visible as such.
func TestIsUnavailableForErrorsThatARetryMayFix(t *testing.T) {
	t.Parallel()
	_, refused := pgconn.Connect(t.Context(), "postgres://unknown@127.0.0.1:1/none")
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"nothing":            {nil, false},
		"no server":          {refused, true},
		"too slow":           {fmt.Errorf("reading: %w", context.DeadlineExceeded), true},
		"cut off":            {fmt.Errorf("reading: %w", io.ErrUnexpectedEOF), true},
		"reset":              {&net.OpError{Op: "read", Err: errors.New("connection reset by peer")}, true},
		"shutting down":      {&pgconn.PgError{Code: "57P01"}, true},
		"too many clients":   {&pgconn.PgError{Code: "53300"}, true},
		"idle too long":      {&pgconn.PgError{Code: "25P03"}, true},
		"a standby":          {&pgconn.PgError{Code: "25006"}, true},
		"aborted before":     {&pgconn.PgError{Code: "25P02"}, false},
		"serialization":      {&pgconn.PgError{Code: "40001"}, true},
		"a unique violation": {&pgconn.PgError{Code: "23505"}, false},
		"bad SQL":            {&pgconn.PgError{Code: "42P01"}, false},
		"a code too short":   {&pgconn.PgError{Code: ""}, false},
		"absent":             {pg.ErrNotFound, false},
		"given up":           {context.Canceled, false},
		"a fault of ours":    {errors.New("json: unsupported type"), false},
	} {
		require.Equal(t, c.want, pg.IsUnavailable(c.err), name)
	}
}

func TestViolatesNamesAConstraintOfAnyShard(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  *pgconn.PgError
		want bool
	}{
		"the constraint":         {&pgconn.PgError{Code: "23505", ConstraintName: "frames_pkey"}, true},
		"that of a shard":        {&pgconn.PgError{Code: "23505", ConstraintName: "frames_pkey_102008"}, true},
		"a different constraint": {&pgconn.PgError{Code: "23505", ConstraintName: "frames_pkey_digest"}, false},
		"a shorter name":         {&pgconn.PgError{Code: "23505", ConstraintName: "frames"}, false},
		"a different violation":  {&pgconn.PgError{Code: "23503", ConstraintName: "frames_pkey"}, false},
	} {
		require.Equal(t, c.want, pg.Violates(c.err, "frames_pkey"), name)
	}
}
