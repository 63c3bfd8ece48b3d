package pg_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

// A row of version 1.0, which has no MAC, is believed from the migration until countersign migrate --finish, and never in a database that 1.0 has not
// written. A row with a MAC that does not match is refused all the time, unless 1.0 changes what the MAC covers.
func TestRowsOfTheEarlierVersionAreBelievedUntilTheUpgradeIsFinished(t *testing.T) {
	t.Parallel()
	st := testenv.TamperedStore(t)
	w := fixture.New(t, st, storetest.Epoch)
	h := w.Hold(time.Hour, 1)
	exec := func(sql string) {
		_, err := st.Pool().Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	read := func() error {
		return st.Gorm(t.Context()).Where("environment_id = ? and id = ?", h.EnvironmentID, h.AuthorizationID).Take(&models.Authorization{}).Error
	}
	var altered *pg.Altered
	exec("update authorizations set row_mac = null")
	require.ErrorAs(t, read(), &altered)

	require.NoError(t, st.OpenBridge(t.Context()))
	require.NoError(t, read())
	exec("create table copied as select * from bridges")
	exec("update authorizations set row_mac = '\\x00'")
	require.ErrorAs(t, read(), &altered)

	exec("update authorizations set row_mac = null")
	readSubject := func() error {
		return st.Gorm(t.Context()).Where("environment_id = ? and uid = ?", h.EnvironmentID, w.Subject.UID).Take(&models.Subject{}).Error
	}
	exec("update subjects set status = 'revoked'")
	require.NoError(t, readSubject(), "1.0 moves rows that this version has signed")
	var signed int
	require.NoError(t, st.Write(t.Context(), func(q *pg.Q) (err error) {
		signed, err = pg.FinishBridge(t.Context(), q)
		return err
	}))
	require.Equal(t, 2, signed)
	open, err := st.BridgeIsOpen(t.Context())
	require.NoError(t, err)
	require.False(t, open)
	require.NoError(t, read())
	require.NoError(t, readSubject())
	exec("update subjects set status = 'active'")
	require.ErrorAs(t, readSubject(), &altered)
	exec("update authorizations set row_mac = null")
	exec("delete from bridges where name = '1.0'")
	exec("insert into bridges select * from copied")
	open, err = st.BridgeIsOpen(t.Context())
	require.NoError(t, err)
	require.False(t, open, "an earlier copy does not begin it again")
	require.ErrorAs(t, read(), &altered)
}
