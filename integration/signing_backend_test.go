package integration_test

import (
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/cmd/countersign/wiring"
	"github.com/countersign-dev/countersign/internal/platform/keys"
	"github.com/countersign-dev/countersign/internal/platform/keys/software"
	"github.com/countersign-dev/countersign/internal/platform/keys/transit"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/internal/testing/testenv/temporaltest"
	"github.com/countersign-dev/countersign/internal/testing/transittest"
)

// signingKeysEnv is the setting of a backend for the signing keys of the service that all tests share; empty is software.
const signingKeysEnv = "COUNTERSIGN_TEST_SIGNING_KEYS"

// testSigners are the backends of that service.
func testSigners() []keys.Signer {
	setting := os.Getenv(signingKeysEnv)
	if setting == "" {
		return nil
	}
	s, err := guarded(setting)
	if err != nil {
		panic(signingKeysEnv + ": " + err.Error())
	}
	return []keys.Signer{s}
}

func guarded(setting string) (keys.Signer, error) {
	u, err := url.Parse(setting)
	if err != nil {
		return nil, err
	}
	s, err := transit.Open(u)
	if err != nil {
		return nil, err
	}
	return keys.NewGuard(s), nil
}

func openTransit(t *testing.T, server *transittest.Server) keys.Signer {
	t.Helper()
	s, err := guarded(server.URI)
	require.NoError(t, err)
	return s
}

// While the backend of the signing keys is unavailable, a completion or approval whose decision would have a proof is refused within a
// second, before its assertion or review is stored. The same request succeeds afterwards. What needs no proof goes on.
func TestCompletionsAndApprovalsWithoutTheBackendOfSigningKeys(t *testing.T) {
	t.Parallel()
	server := transittest.Start(t)
	address, namespace := temporaltest.Namespace(t)
	p, w := separateService(t, testenv.Database(t), address, namespace, openTransit(t, server))
	subject := w.subject(t)
	d := w.device(t, subject)
	_, challenged := w.action(t, "enforce", challenging)
	_, held := w.action(t, "enforce", holding)
	_, heldTwice := w.action(t, "enforce", with(holding, object{"approvals_required": 2}))
	_, tested := w.action(t, "test", holding)
	challenge := func() string { return w.authorize(t, subject, challenged, "challenge").string("challenge.id") }
	hold := func(action string) string { return w.authorize(t, subject, action, "hold").string("id") }
	completed, cancelled := challenge(), challenge()
	approved, rejected, half, test := hold(held), hold(held), hold(heldTwice), hold(tested)
	assertion := w.sign(t, d, completed)
	requests := map[string]object{
		"/api/v1/challenges/" + completed + "/complete": {"method": "passkey", "assertion": assertion},
		reviewPath(approved):                            {"resolution": "approve", "note": "called back"},
	}
	rows := func(table string) (n int) {
		require.NoError(t, p.Store.Pool().QueryRow(t.Context(), "select count(*) from "+table).Scan(&n))
		return n
	}

	server.Sealed.Store(true)
	for path, body := range requests {
		for range 2 {
			start := time.Now()
			refused := w.Server.post(t, path, body).problem(503, "unavailable")
			require.Less(t, time.Since(start), time.Second, path)
			require.NotEmpty(t, refused.header.Get("Retry-After"), path)
		}
	}
	require.Zero(t, rows("move_requests"), "no request was stored")
	require.Equal(t, "open", w.Server.get(t, "/api/v1/challenges/"+completed).is(200).string("status"))
	require.Equal(t, "pending", w.Server.get(t, "/api/v1/authorizations/"+approved).is(200).string("review_status"))
	w.Server.post(t, "/api/v1/challenges/"+cancelled+"/cancel", nil).is(200)
	w.Server.post(t, reviewPath(rejected), object{"resolution": "reject"}).is(200)
	w.Server.post(t, reviewPath(half), object{"resolution": "approve"}).is(202)
	w.Server.post(t, reviewPath(test), object{"resolution": "approve"}).is(200)
	state := readyz(t, p)
	require.Equal(t, 200, state.status)
	require.True(t, state.lost("keys_1_transit", "Enforced allows whose key is in keys_1_transit are refused"), "%v", state)

	server.Sealed.Store(false)
	for path, body := range requests {
		eventually(t, func() bool { return w.Server.post(t, path, body).status == 200 }, "the same request succeeds: "+path)
	}
	require.Equal(t, len(requests), rows("proofs"))
}

// Uses of a standing approval wait for a slow backend together, and are never more than it permits.
func TestStandingApprovalsOfASlowBackend(t *testing.T) {
	t.Parallel()
	server := transittest.Start(t)
	address, namespace := temporaltest.Namespace(t)
	_, w := separateService(t, testenv.Database(t), address, namespace, openTransit(t, server))
	_, action := w.standingAction(t, standingPolicy)
	subject := w.subject(t)
	w.begun(t, subject, action, object{"max_uses": 3})
	server.SlowBy(200 * time.Millisecond)
	bodies := make([]object, 8)
	for i := range bodies {
		bodies[i] = covered(subject, action, nil)
	}
	decisions, allowed := w.decideAtOnce(t, bodies)
	require.Equal(t, 3, decisions["allow"], "%v", decisions)
	proof := w.Server.get(t, "/api/v1/authorizations/"+allowed).is(200).string("proof.compact")
	verdict := w.Server.post(t, "/api/v1/verify", object{"proof": proof, "audience": audience, "consume": true}).is(200)
	require.Equal(t, true, verdict.value("valid"), "%s", verdict.body)
}

// Keys move from software to a backend and back under load, and no request fails. Then the token of the backend is withdrawn during the
// load: allows are refused until it is back, and nothing that was returned is lost.
func TestKeysMoveUnderLoad(t *testing.T) {
	t.Parallel()
	server := transittest.Start(t)
	address, namespace := temporaltest.Namespace(t)
	database := testenv.Database(t)
	p, w := separateService(t, database, address, namespace, software.Signer{}, openTransit(t, server))
	mover := open(t, wiring.Settings{Log: shared.log, DatabaseURL: database, BaseURL: p.BaseURL, Keys: shared.keys, MaxConns: 2,
		Signers: []keys.Signer{openTransit(t, server), software.Signer{}}})
	tr := newTraffic(t, w)
	more := func(why string) {
		t.Helper()
		before := tr.count()
		eventually(t, func() bool { return tr.count() >= before+12 }, why)
	}
	// Two rotations: the first publishes a key in the first backend of the core, the second signs with it.
	move := func(c *wiring.Core, backend string) {
		t.Helper()
		for range 2 {
			_, err := c.Signing.Rotate(t.Context(), w.scope(), "cli:test")
			require.NoError(t, err)
			more("decisions after a rotation")
		}
		all, err := c.Signing.Keys(t.Context(), w.scope())
		require.NoError(t, err)
		for _, k := range all {
			if k.Status == "active" {
				require.Equal(t, backend, k.Backend)
			}
		}
	}
	tr.start(3)
	more("decisions with software keys")
	move(mover, mover.Signers[0].Name())
	move(p.Core, software.Name)
	move(mover, mover.Signers[0].Name())
	require.Zero(t, tr.refused.Load(), "a move refuses no request")

	token, err := os.ReadFile(server.TokenFile)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(server.TokenFile, []byte("revoked"), 0o600))
	eventually(t, func() bool { return tr.refused.Load() > 0 }, "allows are refused")
	require.NoError(t, os.WriteFile(server.TokenFile, token, 0o600))
	more("decisions after the token is back")

	decided := tr.end(t)
	tr.requireRecorded(t, p.Store)
	require.NotEmpty(t, decided["allow"])
	for _, a := range decided["allow"] {
		require.Equal(t, true, w.Server.post(t, "/api/v1/verify", object{"proof": a.string("proof")}).is(200).value("valid"))
	}
	tr.resolve(t, p.Store, decided)
}
