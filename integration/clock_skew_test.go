package integration_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/cmd/countersign/wiring"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/workflows"
)

// replica is a further API and worker on the same data, on a machine whose clock is off.
func replica(t *testing.T, off time.Duration) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx := context.WithoutCancel(t.Context())
	core, err := wiring.Open(ctx, wiring.Settings{
		Log: shared.log, Machine: clock.Offset(clock.System(), off), DatabaseURL: shared.database, Keys: shared.keys,
		BaseURL: shared.baseURL, MaxConns: 6, // its worker signs proofs for everybody's runs
	})
	require.NoError(t, err)
	p, err := wiring.New(core, wiring.Options{Temporal: workflows.DialOptions{Address: shared.address, Namespace: shared.namespace}})
	require.NoError(t, err)
	failed := make(chan error, 4)
	stopAPI, err := p.StartAPI(ctx, failed, l)
	require.NoError(t, err)
	stopWorker := p.StartWorker(ctx, failed)
	t.Cleanup(func() {
		stopAPI()
		stopWorker()
		p.Close()
		core.Close()
	})
	return "http://" + l.Addr().String()
}

// The clock of one machine is six minutes ahead and that of another six behind. All go by the database's: requests of now
// are fresh to each, what one opens is open to all, and what has expired has expired for all.
func TestReplicasAgreeDespiteClockSkew(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	const ttl = 300 * time.Second
	on := func(base string) world {
		other := w
		other.Server.base = base
		return other
	}
	all := map[string]world{"right": w, "ahead": on(replica(t, 6*time.Minute)), "behind": on(replica(t, -6*time.Minute))}
	_, action := w.action(t, "enforce", challenging)
	subject := w.subject(t)
	for by, opener := range all {
		for other, closer := range all {
			asked := time.Now()
			a := opener.authorize(t, subject, action, "challenge")
			expires, err := time.Parse(time.RFC3339, a.string("challenge.expires_at"))
			require.NoError(t, err)
			require.WithinDuration(t, asked.Add(ttl), expires, 30*time.Second, by)
			path := "/api/v1/challenges/" + a.string("challenge.id")
			require.Equal(t, "open", closer.Server.get(t, path).is(200).string("status"), "opened by %s, seen by %s", by, other)
			child := closer.Server.settle(t, path+"/complete", object{"method": "sandbox_confirm"}).is(200).string("authorization")
			decided, err := time.Parse(time.RFC3339, closer.Server.get(t, "/api/v1/authorizations/"+child).is(200).string("decided_at"))
			require.NoError(t, err)
			require.WithinDuration(t, asked, decided, 30*time.Second, "decided again by whichever worker, opened by %s", by)
		}
	}
	left := w.authorize(t, subject, action, "challenge")
	path := "/api/v1/challenges/" + left.string("challenge.id")
	_, err := shared.Core.Store.Pool().Exec(t.Context(), "update challenges set expires_at = clock_timestamp() + interval '5 seconds' where id = $1",
		left.string("challenge.id"))
	require.NoError(t, err)
	for _, replica := range all {
		require.Equal(t, "open", replica.Server.get(t, path).is(200).string("status"))
	}
	for name, replica := range all {
		eventually(t, func() bool { return replica.Server.get(t, path).is(200).string("status") == "expired" }, "expired for "+name)
		replica.Server.post(t, path+"/complete", object{"method": "sandbox_confirm"}).problem(409, "challenge_expired")
	}
}
