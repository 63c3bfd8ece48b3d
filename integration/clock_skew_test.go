package integration_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

// The clock of one replica is six minutes ahead and that of another six minutes behind. All use the database's clock: each
// accepts current requests, and all agree on whether a challenge is open or expired.
func TestReplicasAgreeDespiteClockSkew(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	const ttl = 300 * time.Second
	on := func(base string) world {
		other := w
		other.Server.base = base
		return other
	}
	all := map[string]world{"right": w, "ahead": on(skewedReplica(t, 6*time.Minute)), "behind": on(skewedReplica(t, -6*time.Minute))}
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
			child := closer.Server.post(t, path+"/complete", object{"method": "sandbox_confirm"}).is(200).string("authorization")
			decided, err := time.Parse(time.RFC3339, closer.Server.get(t, "/api/v1/authorizations/"+child).is(200).string("decided_at"))
			require.NoError(t, err)
			require.WithinDuration(t, asked, decided, 30*time.Second, "the follow-up decision, by any worker, of a challenge opened by %s", by)
		}
	}
	left := w.authorize(t, subject, action, "challenge")
	path := "/api/v1/challenges/" + left.string("challenge.id")
	_, err := shared.Core.Store.Pool().Exec(t.Context(), "update challenges set expires_at = now() + interval '5 seconds' where id = $1",
		left.string("challenge.id"))
	require.NoError(t, err)
	testenv.Attest(t, shared.Core.Store, w.scope())
	for _, replica := range all {
		require.Equal(t, "open", replica.Server.get(t, path).is(200).string("status"))
	}
	for name, replica := range all {
		eventually(t, func() bool { return replica.Server.get(t, path).is(200).string("status") == "expired" }, "expired for "+name)
		replica.Server.post(t, path+"/complete", object{"method": "sandbox_confirm"}).problem(409, "challenge_expired")
	}
}
