package storetest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/local/localpg"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

// Database is the name of the database of Pair.
const Database = "countersign"

// Pair starts a Postgres with a migrated database, and a standby that streams from it. Both end with the test.
func Pair(t testing.TB) (primary, standby *localpg.Server) {
	t.Helper()
	dir, err := os.MkdirTemp("", "countersign-pair-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755)) // #nosec G302 -- the user that Postgres runs as passes through
	// Not ephemeral: what is visible before its log is flushed could not be compared with a standby.
	settings := []string{"fsync=off", "full_page_writes=off"}
	primary, err = localpg.Start(t.Context(), localpg.Options{Dir: filepath.Join(dir, "primary"), Settings: settings})
	require.NoError(t, err)
	t.Cleanup(func() { _ = primary.Stop() })
	require.NoError(t, primary.Create(t.Context(), Database))
	st, err := pg.Open(t.Context(), primary.URL(Database), pg.Options{MaxConns: 2, Keys: testenv.Keys()})
	require.NoError(t, err)
	defer st.Close()
	_, _, err = st.Migrate(t.Context())
	require.NoError(t, err)
	standby, err = primary.Standby(t.Context(), localpg.Options{Dir: filepath.Join(dir, "standby"), Settings: settings})
	require.NoError(t, err)
	t.Cleanup(func() { _ = standby.Stop() })
	return primary, standby
}
