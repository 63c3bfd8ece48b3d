package authorization_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

// plainWorld is the owner of the rows of tests that write them by hand.
const plainWorld = `insert into tenants values ('tnt_1', 'Test', now());
	insert into environments (id, tenant_id, kind, rp_id, rp_name, rp_origins, created_at) values ('env_1', 'tnt_1', 'sandbox', 'localhost', '', '{}', now());
	insert into subjects (uid, tenant_id, environment_id, external_id, status, enrollment, created_at, updated_at)
		values ('sub_1', 'tnt_1', 'env_1', 'user-1', 'active', 'none', '2026-11-01', '2026-11-01');`

var (
	plainNow   = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	plainScope = pg.Scope{Tenant: "tnt_1", Environment: "env_1"}
)

// newPlainWorld returns a store with the owner of the rows.
func newPlainWorld(t *testing.T) *pg.Store {
	t.Helper()
	st := storetest.New(t)
	_, err := st.Pool().Exec(t.Context(), plainWorld)
	require.NoError(t, err)
	testenv.Attest(t, st)
	return st
}

// decision returns a decision about the subject of plainWorld, with its proof and its event.
func decision(at time.Time, n int) *authorization.Decision {
	id := func(prefix string) string { return ids.Lowest(prefix, at)[:24] + fmt.Sprintf("%06d", n) }
	key := fmt.Sprint("key-", n)
	a := models.Authorization{
		ID: id("azn"), TenantID: "tnt_1", EnvironmentID: "env_1", CredentialID: "crd_1", ActionID: "act_1", ActionKey: "a", SubjectUID: "sub_1",
		ResourceDigest: "sha256:resource", Nonce: fmt.Sprint("nonce-", n), IdempotencyKey: &key, RequestHash: []byte(key), RequestedAt: at, DecidedAt: at,
		Mode: models.ModeEnforce, Decision: "allow", ReasonCodes: models.Strings{"met"}, Coverage: "none", Response: []byte(`{"id": "` + key + `"}`),
		Assurance: models.JSON(`{"subject": "user-1"}`), Explanation: models.JSON(`[{"requirement": "subject"}]`),
	}
	d := &authorization.Decision{
		Authorization: a, SubjectAsOf: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC),
		Proof: &models.Proof{JTI: id("prf"), TenantID: "tnt_1", EnvironmentID: "env_1", AuthorizationID: a.ID, SubjectUID: "sub_1",
			Status: models.ProofActive, IssuedAt: at, ExpiresAt: at.Add(time.Minute), Sealed: []byte(key)},
		Events: []models.Event{{ID: id("evt"), TenantID: "tnt_1", EnvironmentID: "env_1", Type: "authorization.decided", At: at, Actor: "credential:crd_1",
			AuthorizationID: &a.ID, Data: models.JSON(`{"mode": "enforce"}`), Salt: []byte{1, 2}, Digest: []byte{0xab}}},
	}
	d.Events[0].Decision = &d.Authorization.Decision
	return d
}

// write writes a decision.
func write(t *testing.T, st *pg.Store, d *authorization.Decision) {
	t.Helper()
	written, err := authorization.InsertDecision(t.Context(), st.Q, d)
	require.NoError(t, err)
	require.True(t, written)
}
