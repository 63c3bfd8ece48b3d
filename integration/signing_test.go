package integration_test

import (
	"context"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/cmd/countersign/wiring"
	"github.com/countersign-dev/countersign/internal/authz/proof"
	"github.com/countersign-dev/countersign/internal/authz/signing"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/internal/testing/testenv/temporaltest"
)

const keySetPath = "/.well-known/service-proof-keys.json"

// damageKeys replaces an environment's signing keys of a status with bytes that no master key decrypts, as a process with a wrong
// master key would. It sends the notification of a changed key.
func (w world) damageKeys(t *testing.T, statuses ...string) {
	t.Helper()
	for _, status := range statuses {
		tag, err := shared.Store.Pool().Exec(t.Context(), `update signing_keys set sealed = '\x01020304' where environment_id = $1 and status = $2`, w.ID, status)
		require.NoError(t, err)
		require.EqualValues(t, 1, tag.RowsAffected())
	}
	require.NoError(t, shared.Store.Notify(t.Context(), pg.ChannelSigningKey, w.ID))
}

// publishedKeys returns the key set that relying parties verify with.
func publishedKeys(t *testing.T) proof.KeySet {
	t.Helper()
	keys, err := proof.ParseJWKS(caller{base: shared.baseURL}.get(t, keySetPath).is(200).body)
	require.NoError(t, err)
	return keys
}

// signingKeys returns the ids of an environment's signing keys by status.
func (w world) signingKeys(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, k := range w.Admin.get(t, "/api/v1/signing-keys").is(200).list() {
		out[k["status"].(string)] = k["kid"].(string)
	}
	return out
}

func TestDamagedSigningKeyIsReplaced(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", allowing)
	subject := w.subject(t)
	allowed := func() {
		t.Helper()
		compact := w.authorize(t, subject, action, "allow").string("proof")
		require.Equal(t, true, w.Server.post(t, "/api/v1/verify", object{"proof": compact}).is(200).value("valid"))
	}

	w.damageKeys(t, "next")
	allowed()
	before := w.signingKeys(t)
	w.Admin.post(t, "/api/v1/signing-keys/rotate", nil).problem(409, "rotation_in_progress")
	after := w.signingKeys(t)
	require.Equal(t, before["active"], after["active"], "the valid key remains active")
	require.NotEqual(t, before["next"], after["next"], "the damaged key was replaced")
	allowed()

	w.damageKeys(t, "active")
	eventually(t, func() bool {
		header, _, _ := strings.Cut(w.authorize(t, subject, action, "allow").string("proof"), ".")
		raw, err := base64.RawURLEncoding.DecodeString(header)
		return err == nil && !strings.Contains(string(raw), after["active"])
	}, "the notification arrives: proofs of the damaged key cannot be verified after it")
	allowed()
	eventually(t, func() bool { return metric(t, `countersign_signing_environments{key="stand_in"}`) > 0 }, "the metric of environments that sign with a substitute key")
	state := readyz(t, shared.Process)
	require.Equal(t, 200, state.status, "one damaged environment leaves the service ready")
	require.Equal(t, "degraded", state.Checks["signing"])

	_, err := shared.Store.Pool().Exec(t.Context(), `update signing_keys set sealed = '\x01020304' where environment_id = $1`, w.ID)
	require.NoError(t, err)
	require.NoError(t, shared.Store.Notify(t.Context(), pg.ChannelSigningKey, w.ID))
	eventually(t, func() bool {
		a := w.Server.post(t, "/api/v1/authorize", request(subject, action))
		return a.status == 503 && a.string("code") == "unavailable" && a.header.Get("Retry-After") != ""
	}, "an allow that cannot be signed is refused with 503")
	eventually(t, func() bool { return metric(t, `countersign_signing_environments{key="none"}`) > 0 }, "the metric of environments without a signing key")
	require.Zero(t, metric(t, "countersign_master_keys_missing"))

	w.Admin.post(t, "/api/v1/signing-keys/rotate", nil).is(200)
	allowed()
}

func TestReadyzReportsMissingSigningKeys(t *testing.T) {
	t.Parallel()
	database, drop, err := testenv.New(context.WithoutCancel(t.Context()))
	require.NoError(t, err)
	t.Cleanup(drop)
	address, namespace := temporaltest.Namespace(t) // keeps its worker from taking tasks of other tests
	p, w := separateService(t, database, address, namespace)
	begun := readyz(t, p).Checks
	require.Equal(t, "ok", begun["signing"])
	require.Equal(t, "ok", begun["master_key"])

	_, err = p.Store.Pool().Exec(t.Context(), `update signing_keys set sealed = '\x01020304' where environment_id = $1`, w.ID)
	require.NoError(t, err)
	eventually(t, func() bool {
		state := readyz(t, p)
		return state.status == 200 && state.Checks["signing"] == "degraded"
	}, "degraded if one of two environments has no key")
	_, err = p.Store.Pool().Exec(t.Context(), `update signing_keys set sealed = '\x01020304'`)
	require.NoError(t, err)
	eventually(t, func() bool {
		state := readyz(t, p)
		return state.status == 200 && state.Checks["signing"] == "degraded"
	}, "denials, challenges and reads are served without any key")

	_, err = p.Store.Pool().Exec(t.Context(), "insert into master_keys (id, fingerprint, recorded_at) values ('0123456789abcdef', '\\x00', now())")
	require.NoError(t, err)
	eventually(t, func() bool {
		return readyz(t, p).Checks["master_key"] == "degraded"
	}, "another process has recorded a new master key")
}

func TestKeySetFollowsRotations(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	world := caller{base: shared.baseURL}
	set := world.get(t, keySetPath).is(200)
	require.Equal(t, "public, max-age=300", set.header.Get("Cache-Control"))
	tag := set.header.Get("ETag")
	require.NotEmpty(t, tag)

	other := replica(t, wiring.Settings{Log: shared.log, Clock: clock.System()})
	world.at(other).get(t, keySetPath).is(200)
	w.Admin.post(t, "/api/v1/signing-keys/rotate", nil).is(200)
	next := w.signingKeys(t)["next"]
	require.Contains(t, publishedKeys(t), next, "the process that rotated serves the new key at once")
	eventually(t, func() bool {
		keys, err := proof.ParseJWKS(world.at(other).get(t, keySetPath).is(200).body)
		require.NoError(t, err)
		return keys[next] != nil
	}, "the other process serves it after the notification")
	eventually(t, func() bool { // other tests also rotate keys
		tag := world.get(t, keySetPath).is(200).header.Get("ETag")
		return world.with("If-None-Match", `"another", W/`+tag).get(t, keySetPath).status == 304
	}, "the ETag of the key set")
	world.with("If-None-Match", `"another"`).get(t, keySetPath).is(200)
}

// Retiring a compromised signing key at once revokes its proofs.
func TestRetiredSigningKeyVerifiesNothing(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", allowing)
	subject := w.subject(t)
	allowed := w.authorize(t, subject, action, "allow")
	compact, id := allowed.string("proof"), allowed.string("proof_id")
	old := w.signingKeys(t)["active"]
	_, revoked, err := shared.Signing.RetireKey(t.Context(), w.scope(), signing.Retirement{KID: old, AtOnce: true, Actor: "cli:key retire"})
	require.NoError(t, err)
	require.Equal(t, 1, revoked)
	require.NotContains(t, publishedKeys(t), old)
	require.Equal(t, "revoked", w.Server.get(t, "/api/v1/proofs/"+id+"/status").is(200).string("status"))
	v := w.Server.post(t, "/api/v1/verify", object{"proof": compact, "consume": true}).is(200)
	require.Equal(t, false, v.value("valid"))
	require.Equal(t, []string{"proof_key_unknown"}, v.strings("reason_codes"))
	next := w.authorize(t, subject, action, "allow").string("proof")
	require.Equal(t, true, w.Server.post(t, "/api/v1/verify", object{"proof": next}).is(200).value("valid"))
	var retired, revocations int
	require.NoError(t, shared.Store.Pool().QueryRow(t.Context(), `select count(*) filter (where type = 'signing_key.retired'),
		count(*) filter (where type = 'proof.revoked') from events where environment_id = $1`, w.ID).Scan(&retired, &revocations))
	require.Equal(t, 1, retired)
	require.Equal(t, 1, revocations)
}

func TestSigningKeyRotationKeepsProofsValid(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", allowing)
	before := w.authorize(t, w.subject(t), action, "allow").string("proof")
	w.Admin.post(t, "/api/v1/signing-keys/rotate", nil).is(200)
	require.GreaterOrEqual(t, len(w.Admin.get(t, "/api/v1/signing-keys").is(200).list()), 2)
	published := w.signingKeys(t)
	refused := w.Admin.post(t, "/api/v1/signing-keys/rotate", nil).problem(409, "rotation_in_progress")
	require.Contains(t, refused.string("detail"), "Rotate again in 6 minutes", "verifiers have not had the time to fetch the next key")
	require.Equal(t, published, w.signingKeys(t))
	require.Equal(t, true, w.Server.post(t, "/api/v1/verify", object{"proof": before}).is(200).value("valid"))
	after := w.authorize(t, w.subject(t), action, "allow").string("proof")
	require.Equal(t, true, w.Server.post(t, "/api/v1/verify", object{"proof": after}).is(200).value("valid"))
}
