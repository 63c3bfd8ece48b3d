package localpg

import (
	"context"
	"io"
	"path/filepath"

	"github.com/countersign-dev/countersign/internal/local/subprocess"
)

// DumpWAL writes the records between two positions of the write-ahead log as pg_waldump prints them. Postgres removes segments from before
// its last checkpoint; what is left of the output is then an error message.
func (s *Server) DumpWAL(ctx context.Context, from, to string, out io.Writer) error {
	return subprocess.Run(ctx, subprocess.Spec{
		Path: filepath.Join(s.programs, "pg_waldump"), Dir: "/", User: s.user, Output: out,
		Args: []string{"-p", filepath.Join(s.dir, "data", "pg_wal"), "-s", from, "-e", to},
	})
}
