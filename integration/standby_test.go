package integration_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/cmd/countersign/wiring"
	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/models"
)

const ageHeader = "Countersign-Data-Age-Ms"

// The API reads lists from a standby, and says how old they are, and everything else from the primary.
func TestListsSayHowOldTheyAre(t *testing.T) {
	t.Parallel()
	primary, standby := storetest.Pair(t)
	core := open(t, wiring.Settings{Log: shared.log, DatabaseURL: primary.URL(storetest.Database), StandbyURL: standby.URL(storetest.Database),
		StandbyMaxAge: 10 * time.Minute, BaseURL: shared.baseURL, Keys: shared.keys, MaxConns: 8})
	ctx := context.WithoutCancel(t.Context())
	made, err := core.Tenancy.Create(ctx, tenancy.Spec{Name: t.Name(), RPID: "localhost", Origins: []string{"http://localhost:8080"}, AllowLocal: true}, "cli:test")
	require.NoError(t, err)
	limit := plenty
	key, err := core.Identity.Issue(ctx, pg.Scope{Tenant: made.Sandbox.TenantID, Environment: made.Sandbox.ID},
		identity.Issue{Scope: models.ScopeAdmin, Name: "test", RateLimit: &limit}, "cli:test", "")
	require.NoError(t, err)
	_, base := serveAPI(t, core)
	api := caller{base: base, key: key.Key}
	w := world{Environment: made.Sandbox, Server: api, Admin: api}
	id, action := w.action(t, "enforce", allowing)
	subject := w.subject(t)
	api.post(t, "/api/v1/authorize", request(subject, action)).is(200)

	lists := []string{"/api/v1/authorizations", "/api/v1/subjects", "/api/v1/activity", "/api/v1/authorizations?subject=" + subject}
	for _, path := range append(lists, "/api/v1/sessions", "/api/v1/evaluations") {
		eventually(t, func() bool { return api.get(t, path).is(200).header.Get(ageHeader) != "" }, "read from the standby")
	}
	eventually(t, func() bool { return len(api.get(t, "/api/v1/authorizations").is(200).list()) == 1 }, "the standby has the decision")
	simulate := "/api/v1/actions/" + id + "/policy-versions/1/simulate"
	require.NotEmpty(t, api.post(t, simulate, object{}).is(200).header.Get(ageHeader))

	conn, err := pgx.Connect(t.Context(), standby.URL(storetest.Database))
	require.NoError(t, err)
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(t.Context(), "select pg_wal_replay_pause()")
	require.NoError(t, err)
	late := api.post(t, "/api/v1/authorize", request(subject, action)).is(200)

	got := api.get(t, "/api/v1/authorizations").is(200)
	require.Len(t, got.list(), 1, "the standby lags")
	age, err := strconv.Atoi(got.header.Get(ageHeader))
	require.NoError(t, err)
	eventually(t, func() bool {
		later, err := strconv.Atoi(api.get(t, "/api/v1/authorizations").is(200).header.Get(ageHeader))
		return err == nil && later > age+1000
	}, "the age grows")
	t.Run("a caller that must see everything says so", func(t *testing.T) {
		got := api.with("Cache-Control", "no-cache").get(t, "/api/v1/authorizations").is(200)
		require.Len(t, got.list(), 2)
		require.Empty(t, got.header.Get(ageHeader))
	})
	t.Run("by its id a record is read from the primary", func(t *testing.T) {
		got := api.get(t, "/api/v1/authorizations/"+late.string("id")).is(200)
		require.Empty(t, got.header.Get(ageHeader))
	})
	t.Run("a standby that ends fails no request", func(t *testing.T) {
		require.NoError(t, standby.Stop())
		got := api.get(t, "/api/v1/authorizations").is(200)
		require.Len(t, got.list(), 2)
		require.Empty(t, got.header.Get(ageHeader))
	})
}
