// Package storetest returns a store on a database of its own (see internal/testing/testenv) and inserts the rows that most
// tests of the store begin with. It has no assertions about the product. Only tests may import it.
//
// It inserts through the store, row by row. A test that needs a decision with its challenge or hold uses package fixture.
package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

// New returns a store on a new, migrated database that is dropped when the test ends. It is testenv.Store under the name that
// tests of the store use.
func New(t testing.TB) *pg.Store {
	t.Helper()
	return testenv.Store(t)
}

// Epoch is the fixed time at which tests start their clock.
var Epoch = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// Environment inserts a tenant with one environment of the kind. Its RP ID is localhost, its origin http://localhost:8080, and
// challenges and holds expire after the defaults, 5 minutes and 3 days.
func Environment(t testing.TB, q *pg.Store, kind models.EnvironmentKind) models.Environment {
	t.Helper()
	tenant := models.Tenant{ID: ids.New(ids.Tenant), Name: "Test tenant", CreatedAt: Epoch}
	env := models.Environment{
		ID: ids.New(ids.Environment), TenantID: tenant.ID, Kind: kind, RPID: "localhost", CreatedAt: Epoch, Settings: models.Settings{
			RPName: "Test", RPOrigins: models.Strings{"http://localhost:8080"}, ChallengeTTLSeconds: 300, HoldTTLSeconds: 259200,
		},
	}
	require.NoError(t, tenancy.CreateTenant(context.Background(), q.Q, tenant))
	require.NoError(t, tenancy.CreateEnvironment(context.Background(), q.Q, env))
	return env
}

// Scope returns the scope of an environment.
func Scope(env models.Environment) pg.Scope {
	return pg.Scope{Tenant: env.TenantID, Environment: env.ID}
}

// Subject inserts an active, unenrolled subject with the external id.
func Subject(t testing.TB, q *pg.Store, env models.Environment, externalID string) models.Subject {
	t.Helper()
	s := models.Subject{
		UID: ids.New(ids.Subject), TenantID: env.TenantID, EnvironmentID: env.ID, ExternalID: externalID,
		Status: models.SubjectActive, Enrollment: models.EnrollmentNone, CreatedAt: Epoch, UpdatedAt: Epoch,
	}
	created, err := subjectrow.Create(context.Background(), q.Q, s)
	require.NoError(t, err)
	require.True(t, created)
	return s
}

// Texts returns the only column of a query.
func Texts(t testing.TB, st *pg.Store, query string, args ...any) []string {
	t.Helper()
	rows, err := st.Pool().Query(context.Background(), query, args...)
	require.NoError(t, err)
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return out
}

// Pairs returns the two columns of a query.
func Pairs(t testing.TB, st *pg.Store, query string, args ...any) [][2]string {
	t.Helper()
	rows, err := st.Pool().Query(context.Background(), query, args...)
	require.NoError(t, err)
	out, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p [2]string, err error) { return p, row.Scan(&p[0], &p[1]) })
	require.NoError(t, err)
	return out
}

// Exec runs statements one after the other.
func Exec(t testing.TB, st *pg.Store, statements ...string) {
	t.Helper()
	for _, s := range statements {
		_, err := st.Pool().Exec(context.Background(), s)
		require.NoError(t, err)
	}
}

// Waiting returns the number of the database's sessions that wait for a lock.
func Waiting(t testing.TB, st *pg.Store) (n int) {
	t.Helper()
	require.NoError(t, st.Pool().QueryRow(t.Context(), "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'").Scan(&n))
	return n
}
