package integration_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCredentialLifecycle(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	made := w.Admin.post(t, "/api/v1/credentials", object{"scope": "server", "name": "batch", "rate_limit": 50}).is(201)
	require.True(t, strings.HasPrefix(made.string("key"), "sk_test_"))
	id := made.string("id")
	batch := caller{base: shared.baseURL, key: made.string("key")}
	identity := batch.get(t, "/api/v1/credential").is(200)
	require.Equal(t, id, identity.string("credential"))
	require.Equal(t, "50", identity.header.Get("X-RateLimit-Limit"))
	for _, c := range w.Admin.get(t, "/api/v1/credentials").is(200).list() {
		require.NotContains(t, c, "key", "a key is shown only when it is created")
	}

	rotated := w.Admin.post(t, "/api/v1/credentials/"+id+"/rotate", object{"overlap_seconds": 3600}).is(200)
	require.NotEqual(t, made.string("key"), rotated.string("key"))
	next := caller{base: shared.baseURL, key: rotated.string("key")}
	next.get(t, "/api/v1/credential").is(200)
	batch.get(t, "/api/v1/credential").is(200)
	w.Admin.post(t, "/api/v1/credentials/"+id+"/rotate", nil).problem(409, "rotation_in_progress")
	w.Admin.delete(t, "/api/v1/credentials/"+id).is(204)
	eventually(t, func() bool {
		a, err := next.send("GET", "/api/v1/credential", nil)
		return err == nil && a.status == 401
	}, "a revoked key is refused")
	w.Admin.post(t, "/api/v1/credentials/"+id+"/rotate", nil).problem(409, "credential_revoked")
	w.Admin.post(t, "/api/v1/credentials/crd_01jqx3k5v8e2sbyk0c4m7t9wzd/rotate", nil).problem(404, "not_found")
}

func TestCredentialRotationAcceptsOldKeyForADay(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	made := w.Admin.post(t, "/api/v1/credentials", object{"scope": "server", "name": "old"}).is(201)
	rotated := w.Admin.post(t, "/api/v1/credentials/"+made.string("id")+"/rotate", nil).is(200)
	old, next := caller{key: made.string("key")}, caller{key: rotated.string("key")}
	before, after := replicaAhead(t, 24*time.Hour-time.Minute), replicaAhead(t, 24*time.Hour+time.Minute)
	old.at(before).get(t, "/api/v1/credential").is(200)
	old.at(after).get(t, "/api/v1/credential").problem(401, "unauthenticated")
	next.at(after).get(t, "/api/v1/credential").is(200)
}

// With the key of a different party, an admin key would approve what it requested itself.
func TestCredentialRotationIsForTheOwner(t *testing.T) {
	t.Parallel()
	w, other := fourEyes(t)
	theirs := other.get(t, "/api/v1/credential").is(200).string("credential")
	const path = "/api/v1/credentials/"
	a := w.Admin.post(t, path+theirs+"/rotate", nil)
	a.problem(403, "insufficient_scope")
	require.Contains(t, a.string("detail"), "belongs to a different principal")
	other.get(t, "/api/v1/credential").is(200)
	require.Zero(t, count(t, "select count(*) from events where environment_id = $1 and type = 'credential.rotated'", w.ID))

	_, issued := other.issue(t, "server")
	w.Admin.post(t, path+issued+"/rotate", nil).problem(403, "insufficient_scope")
	other.post(t, path+issued+"/rotate", nil).is(200)
	other.post(t, path+theirs+"/rotate", nil).is(200)
}

// One key is one principal, however many keys it issues.
func TestCredentialChainsEnd(t *testing.T) {
	t.Parallel()
	w, _ := fourEyes(t)
	holder, issued := w.Admin, 0
	for range 66 {
		made := holder.post(t, "/api/v1/credentials", object{"scope": "admin"})
		if made.status != 201 {
			made.problem(409, "issuer_chain_too_long")
			break
		}
		issued++
		holder = caller{base: shared.baseURL, key: holder.post(t, "/api/v1/credentials/"+made.string("id")+"/rotate", nil).is(200).string("key")}
	}
	require.Equal(t, 8, issued)
	change := w.Admin.patch(t, "/api/v1/environment", object{"second_approver_required": false}).is(202)
	holder.post(t, changePath(change.string("id"), "approve"), nil).problem(403, "self_approval")
}
