package integration_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/cmd/countersign/wiring"
	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/masterkey"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

// During the rotation of a master key, replicas with either order of the keys read what the others write: API keys, sessions
// and proofs.
func TestMasterKeyRotationWithRunningReplicas(t *testing.T) {
	t.Parallel()
	database, drop, err := testenv.New(context.WithoutCancel(t.Context()))
	require.NoError(t, err)
	t.Cleanup(drop)
	old, fresh := keyring.Generate(), keyring.Generate()
	first, base, err := replicaWithKeys(t, database, old)
	require.NoError(t, err)
	made, err := first.Tenancy.Create(t.Context(), tenancy.Spec{Name: "n", RPID: "localhost", Origins: []string{"http://localhost:8080"}, AllowLocal: true}, "cli:test")
	require.NoError(t, err)
	w := world{Environment: made.Sandbox}
	issue := func(p *wiring.Process) caller {
		t.Helper()
		issued, err := p.Identity.Issue(t.Context(), w.scope(), identity.Issue{Scope: models.ScopeServer}, "cli:test", "")
		require.NoError(t, err)
		return caller{base: base, key: issued.Key}
	}
	w.Server = issue(first)
	_, action := w.action(t, "enforce", allowing)
	subject := w.subject(t)
	who := typist("rotating")
	session := w.session(t, subject, "score", who, 0)

	behind, behindURL, err := replicaWithKeys(t, database, old, fresh)
	require.NoError(t, err)
	front, frontURL, err := replicaWithKeys(t, database, fresh, old)
	require.NoError(t, err)
	callers := []caller{w.Server, issue(behind), issue(front)}
	for range 2 {
		_, err = front.Signing.Rotate(t.Context(), w.scope(), "cli:test") // the active signing key is then sealed with the new master key
		require.NoError(t, err)
	}
	n, start := 0, time.Now().Add(-12*frameMS*time.Millisecond)
	for _, url := range []string{frontURL, behindURL, frontURL} { // each reads the session state that the previous replica sealed
		for _, c := range callers {
			n++
			frame := evidence(who, "score", start, n)
			require.Equal(t, "accepted", c.at(url).post(t, "/api/v1/sessions/"+session+"/evidence", frame).is(200).string("status"))
		}
	}
	for _, signs := range []string{frontURL, behindURL} {
		allowed := w.Server.at(signs).post(t, "/api/v1/authorize", request(subject, action)).is(200)
		for _, verifies := range []string{frontURL, behindURL} {
			v := w.Server.at(verifies).post(t, "/api/v1/verify", object{"proof": allowed.string("proof")}).is(200)
			require.Equal(t, true, v.value("valid"), "%s", v.body)
		}
	}

	var mismatch *masterkey.Mismatch
	for _, keys := range [][]string{{old}, {fresh}, {keyring.Generate()}} {
		_, _, err = replicaWithKeys(t, database, keys...)
		require.ErrorAs(t, err, &mismatch)
	}
	eventually(t, func() bool {
		return readyz(t, first).Checks["master_key"] == "degraded"
	}, "/readyz of the replica that was not restarted reports it")
}
