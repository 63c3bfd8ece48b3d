package tables_test

import (
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

// A key that is retired makes way in every large table, also for rows that move meanwhile: their new MAC stays.
func TestMACsOfAKeyAreRenewedWhileRowsMove(t *testing.T) {
	t.Parallel()
	before := testenv.TamperedStore(t)
	w := fixture.New(t, before, storetest.Epoch)
	for _, row := range attestedRows(w) {
		w.Exec(row, w.Scope.Tenant, w.Scope.Environment, w.Subject.UID)
	}
	testenv.Attest(t, before)
	old := strings.Repeat("5a", keyring.KeySize-1) + "a5"
	keys, err := keyring.Parse(strings.Repeat("6b", keyring.KeySize-1) + "b6 " + old)
	require.NoError(t, err)
	after, err := pg.Open(t.Context(), before.Pool().Config().ConnString(), pg.Options{MaxConns: 4, Keys: keys})
	require.NoError(t, err)
	t.Cleanup(after.Close)
	id, err := hex.DecodeString(testenv.Keys().ActiveID())
	require.NoError(t, err)

	renewed := make(chan error, 1)
	require.NoError(t, after.Write(t.Context(), func(q *pg.Q) error {
		moved, err := subjectrow.Change(t.Context(), q, subjectrow.Of{Scope: w.Scope, UID: w.Subject.UID, At: storetest.Epoch}, "true", "adaptation_frozen = not adaptation_frozen")
		require.True(t, moved)
		go func() { renewed <- pg.RenewLargeMACs(t.Context(), after, id) }()
		require.Eventually(t, func() bool {
			var waiting bool
			err := before.Pool().QueryRow(t.Context(), "select exists (select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock')").Scan(&waiting)
			return err == nil && waiting
		}, 20*time.Second, 5*time.Millisecond)
		return err
	}))
	require.NoError(t, <-renewed)
	_, err = subjectrow.Get(t.Context(), after.Q, w.Scope, w.Subject.ExternalID)
	require.NoError(t, err, "the row was moved under the new key")
	for _, table := range pg.AttestedTables() {
		if table.Placed == pg.ByEnvironment {
			var left int
			require.NoError(t, after.Pool().QueryRow(t.Context(), "select count(*) from "+table.Name+" where substring(row_mac from 1 for $1) = $2", len(id), id).Scan(&left))
			require.Zero(t, left, table.Name)
		}
	}
}
