// Package storetest gives tests a store of their own (internal/testing/testenv makes its database) and the rows that most tests
// begin with. It holds no assertions about the product. Only tests may import it.
package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

// New returns a store on a fresh, migrated database that is dropped when the test ends.
func New(t testing.TB) *store.Store {
	t.Helper()
	return testenv.Store(t)
}

// Epoch is a fixed time for tests to start their clock at.
var Epoch = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// Environment makes a tenant with one environment of the kind, RP ID localhost and origin http://localhost:8080.
func Environment(t testing.TB, q *store.Store, kind models.EnvironmentKind) models.Environment {
	t.Helper()
	tenant := models.Tenant{ID: ids.New(ids.Tenant), Name: "Test tenant", CreatedAt: Epoch}
	env := models.Environment{
		ID: ids.New(ids.Environment), TenantID: tenant.ID, Kind: kind, RPID: "localhost", RPName: "Test",
		RPOrigins: models.Strings{"http://localhost:8080"}, ChallengeTTLSeconds: 300, HoldTTLSeconds: 259200, CreatedAt: Epoch,
	}
	require.NoError(t, q.Tenants().Create(context.Background(), tenant))
	require.NoError(t, q.Environments().Create(context.Background(), env))
	return env
}

// Scope is the scope of an environment.
func Scope(env models.Environment) store.Scope {
	return store.Scope{Tenant: env.TenantID, Environment: env.ID}
}

// Subject makes an active subject with the external id.
func Subject(t testing.TB, q *store.Store, env models.Environment, externalID string) models.Subject {
	t.Helper()
	s := models.Subject{
		UID: ids.New(ids.Subject), TenantID: env.TenantID, EnvironmentID: env.ID, ExternalID: externalID,
		Status: models.SubjectActive, Enrollment: models.EnrollmentNone, CreatedAt: Epoch, UpdatedAt: Epoch,
	}
	created, err := q.Subjects().Create(context.Background(), s)
	require.NoError(t, err)
	require.True(t, created)
	return s
}
