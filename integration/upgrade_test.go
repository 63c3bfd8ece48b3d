package integration_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/cmd/countersign/wiring"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/internal/testing/testenv/temporaltest"
	"github.com/countersign-dev/countersign/workflows"
)

// During a rolling upgrade, the previous binary serves on a newer schema with additional columns and a later version. No request
// fails, and the previous binary can start.
func TestOldBinaryServesNewerSchema(t *testing.T) {
	t.Parallel()
	ctx := context.WithoutCancel(t.Context())
	database, drop, err := testenv.New(ctx)
	require.NoError(t, err)
	t.Cleanup(drop)
	address, namespace, err := temporaltest.New(ctx)
	require.NoError(t, err)
	old, w := separateService(t, database, address, namespace)

	tr := newTraffic(t, w)
	before := journey(t, w)
	tr.start(2)
	expand(t, old)
	after := journey(t, w)
	require.NotEqual(t, before, after)
	tr.stop.Store(true)
	tr.running.Wait()
	require.Empty(t, tr.reasons, "requests failed while the schema changed")
	require.NotEmpty(t, tr.decided)
	for key, decided := range tr.decided {
		decided.t = t
		require.Equal(t, decided.string("id"), w.Server.post(t, "/api/v1/authorize", tr.bodies[key]).is(200).string("id"), "a repeated request")
	}

	core, err := wiring.Open(ctx, wiring.Settings{Log: shared.log, DatabaseURL: database, BaseURL: old.BaseURL, Keys: shared.keys, MaxConns: 4})
	require.NoError(t, err)
	t.Cleanup(core.Close)
	require.NoError(t, core.Store.CheckSchema(ctx))
	again, err := wiring.New(core, wiring.Options{Temporal: workflows.DialOptions{Address: address, Namespace: namespace}})
	require.NoError(t, err)
	again.Close()
}

// journey makes requests that use most tables and returns the last authorization.
func journey(t *testing.T, w world) string {
	t.Helper()
	subject := w.subject(t)
	_, action := w.action(t, "enforce", challenging)
	asked := w.authorize(t, subject, action, "challenge")
	receipt := w.Server.post(t, "/api/v1/challenges/"+asked.string("challenge.id")+"/complete", object{"method": "sandbox_confirm"}).is(200)
	w.Server.get(t, "/api/v1/subjects/"+subject).is(200)
	w.Server.post(t, "/api/v1/subjects/"+subject+"/export", nil).is(200)
	w.Server.get(t, "/api/v1/activity").is(200)
	w.Server.get(t, "/api/v1/sessions").is(200)
	w.Server.get(t, "/api/v1/reviews").is(200)
	child := receipt.string("authorization")
	trace := w.Server.get(t, "/api/v1/authorizations/"+child).is(200)
	w.Server.post(t, "/api/v1/verify", object{"proof": trace.string("proof.compact"), "consume": true}).is(200)
	return child
}

// expand changes every table as the migration of a later version may do.
func expand(t *testing.T, p *wiring.Process) {
	t.Helper()
	ctx := t.Context()
	rows, err := p.Store.Pool().Query(ctx, `select relname from pg_class where relnamespace = 'public'::regnamespace
		and relkind in ('r', 'p') and not relispartition and relname <> 'goose_db_version'`)
	require.NoError(t, err)
	var tables []string
	for rows.Next() {
		var name string
		require.NoError(t, rows.Scan(&name))
		tables = append(tables, name)
	}
	require.NoError(t, rows.Err())
	for _, name := range tables {
		_, err := p.Store.Pool().Exec(ctx, fmt.Sprintf("alter table %s add column of_a_later_version text not null default 'x'", name))
		require.NoError(t, err)
	}
	_, err = p.Store.Pool().Exec(ctx, "insert into goose_db_version (version_id, is_applied) values (99999, true)")
	require.NoError(t, err)
}
