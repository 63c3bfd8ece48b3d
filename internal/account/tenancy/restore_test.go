package tenancy_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	_ "github.com/countersign-dev/countersign/internal/testing/tables"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

// direct opens a database as a command does: its statements run over all environments.
func direct(t *testing.T, url string, keys *keyring.Keyring) *pg.Store {
	t.Helper()
	st, err := pg.Open(t.Context(), url, pg.Options{MaxConns: 2, Keys: keys})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	return st
}

// contents returns every row of every table that has rows of tenants, a line for each.
func contents(t *testing.T, st *pg.Store) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, table := range slices.Concat([]string{"outbox"}, pg.TablesPlaced(pg.Everywhere), pg.TablesPlaced(pg.ByEnvironment)) {
		out[table] = strings.Join(storetest.Texts(t, st, "select x::text from "+table+" x order by 1"), "\n")
	}
	return out
}

// A tenant that was deleted is restored row by row from a copy of the database of before, and no other tenant changes.
func TestTenantIsRestoredAsItWas(t *testing.T) {
	t.Parallel()
	backup, now := testenv.Database(t), testenv.Database(t)
	old, st := direct(t, backup, testenv.Keys()), direct(t, now, testenv.Keys())
	for _, on := range []*pg.Store{old, st} {
		fixture.New(t, on, storetest.Epoch).Hold(time.Hour, 2)
	}
	others := contents(t, st)
	w := fixture.New(t, old, storetest.Epoch)
	w.AddCredential("crd_1", "cli:test")
	h := w.Hold(time.Hour, 1)
	w.Challenge(time.Hour, "passkey")
	w.Exec("insert into credential_keys (mac, credential_id, created_at) values ('\\x01', 'crd_1', now())")
	w.Exec("insert into hold_teams (authorization_id, tenant_id, environment_id, team, approvals) values ($1, $2, $3, 'leads', 1)", h.AuthorizationID, w.Scope.Tenant, w.Scope.Environment)
	s := tenancy.New(st, nil, clock.System(), nil)

	done, err := s.Restore(t.Context(), old, w.Scope.Tenant, "cli:tenant restore")
	require.NoError(t, err)
	require.Positive(t, done.Rows)
	require.Equal(t, w.Scope.Environment, done.Environments[0].ID)
	stored, had := contents(t, st), contents(t, old)
	for table, rows := range had {
		for _, row := range strings.Split(rows, "\n") {
			if strings.Contains(row, w.Scope.Tenant) || strings.Contains(row, w.Scope.Environment) || strings.Contains(row, "crd_1") {
				require.Contains(t, strings.Split(stored[table], "\n"), row, table)
			}
		}
	}
	_, err = s.Restore(t.Context(), old, w.Scope.Tenant, "cli:tenant restore")
	require.True(t, problem.Is(err, problem.Conflict), "%v", err)
	_, err = s.Restore(t.Context(), old, "tnt_' or true --", "cli:tenant restore")
	require.True(t, problem.Is(err, problem.NotFound), "%v", err)
	const said = "select actor || ' ' || data::text from events where type = 'tenant.restored'"
	require.Equal(t, []string{"cli:tenant restore {}"}, storetest.Texts(t, st, said))

	w.Exec("update credentials set revoked_at = now()")
	testenv.Exec(t, st, "update credentials set revoked_at = now()")
	testenv.Exec(t, st, "update holds set status = 'expired' where tenant_id = $1", w.Scope.Tenant)
	testenv.Exec(t, st, "update challenges set status = 'cancelled' where tenant_id = $1", w.Scope.Tenant)
	deleted, err := s.Delete(t.Context(), w.Scope.Tenant, "Example", "cli:tenant delete")
	require.NoError(t, err)
	require.Equal(t, done.Rows+1, deleted, "as many rows are deleted as were restored, and the entry of that")
	listed, err := tenancy.ListDeleted(t.Context(), st.Q)
	require.NoError(t, err)
	require.Len(t, listed, 1)
	require.Equal(t, w.Scope.Tenant, listed[0].ID)
	for table, rows := range others {
		if table != "credentials" {
			require.Equal(t, rows, contents(t, st)[table], table)
		}
	}

	_, err = s.Restore(t.Context(), old, w.Scope.Tenant, "cli:tenant restore")
	require.NoError(t, err)
	require.Contains(t, storetest.Texts(t, st, said)[0], `"deleted_by": "cli:tenant delete"`)
	listed, err = tenancy.ListDeleted(t.Context(), st.Q)
	require.NoError(t, err)
	require.Empty(t, listed)
}

// A tenant whose rows were made with other master keys is not restored, because they decide nothing.
func TestTenantOfOtherMasterKeysIsNotRestored(t *testing.T) {
	t.Parallel()
	old := direct(t, testenv.Database(t), testenv.Keys())
	w := fixture.New(t, old, storetest.Epoch)
	other, err := keyring.Parse(strings.Repeat("7c", keyring.KeySize-1) + "c7")
	require.NoError(t, err)
	st := direct(t, testenv.Database(t), other)
	_, err = tenancy.New(st, nil, clock.System(), nil).Restore(t.Context(), old, w.Scope.Tenant, "cli:tenant restore")
	var altered *pg.Altered
	require.ErrorAs(t, err, &altered)
	require.Empty(t, storetest.Texts(t, st, "select id from tenants"))
}
