package integration_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/audit"
)

// verified verifies the environment's audit chain and the stored records against it.
func (w world) verified(t *testing.T) audit.Result {
	t.Helper()
	result, err := audit.Verify(t.Context(), w.process.Store, w.scope(), nil)
	require.NoError(t, err)
	return result
}

// tamperedRecords are the ids of the records that the test tampers with.
type tamperedRecords struct{ held, approved, child, asked, completed, allowed, voided, reported, subject, erased, erasure, spare string }

// tamperedRecords creates a decision of every kind, one for each tampering.
func (w world) tamperedRecords(t *testing.T) tamperedRecords {
	t.Helper()
	var s tamperedRecords
	_, holds := w.action(t, "enforce", holding)
	_, challenges := w.action(t, "enforce", challenging)
	_, allows := w.action(t, "enforce", allowing)
	s.subject = w.subject(t)
	s.held = w.authorize(t, s.subject, holds, "hold").string("id")
	s.approved = w.authorize(t, s.subject, holds, "hold").string("id")
	approval := w.Admin.post(t, "/api/v1/authorizations/"+s.approved+"/review", object{"resolution": "approve"}).is(200)
	s.child = approval.string("decision.id")
	w.Server.post(t, "/api/v1/verify", object{"proof": approval.string("decision.proof"), "audience": audience, "consume": true}).is(200)
	s.asked = w.authorize(t, s.subject, challenges, "challenge").string("id")
	completed := w.authorize(t, s.subject, challenges, "challenge")
	s.completed = completed.string("id")
	w.Server.post(t, "/api/v1/challenges/"+completed.string("challenge.id")+"/complete", object{"method": "sandbox_confirm"}).is(200)
	s.allowed = w.authorize(t, s.subject, allows, "allow").string("id")
	s.spare = w.authorize(t, s.subject, allows, "allow").string("id")
	s.reported = w.authorize(t, s.subject, allows, "allow").string("id")
	w.Server.post(t, "/api/v1/authorizations/"+s.reported+"/outcome", object{"outcome": "executed"}).is(200)

	other := w.subject(t)
	s.voided = w.authorize(t, other, allows, "allow").string("id")
	w.Server.post(t, "/api/v1/subjects/"+other+"/revoke", nil).is(200)

	gone := w.subject(t)
	s.erased = w.authorize(t, gone, allows, "allow").string("id")
	s.erasure = w.Server.delete(t, "/api/v1/subjects/"+gone).is(202).string("erasure")
	require.Eventually(t, func() bool {
		var completed bool
		require.NoError(t, w.process.Store.Pool().QueryRow(t.Context(), "select status = 'completed' from erasures where id = $1", s.erasure).Scan(&completed))
		return completed
	}, erasureTimeout, 200*time.Millisecond)
	return s
}

func TestAuditVerifyFindsTampering(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	s := w.tamperedRecords(t)
	ada := typist(t.Name())
	enrolled := w.enrolled(t, ada)
	before := w.verified(t)
	require.True(t, before.Intact(), "%+v", before.Findings)
	require.NotZero(t, before.State.Templates, "%+v", before.State)
	require.EqualValues(t, 1, before.State.Erasures)
	require.EqualValues(t, 1, before.State.Removed)

	uid := fmt.Sprintf("(select uid from subjects where environment_id = '%s' and external_id = '%s')", w.ID, enrolled)
	seen := before.Findings
	for _, c := range []struct {
		name, sql string
		kind      audit.Kind
		field     string
		target    string
	}{
		{"decision", "update authorizations set decision = 'allow' where id = '" + s.held + "'", audit.Contradicted, "authorizations.decision", s.held},
		{"hold", "update holds set status = 'approved', resolved_by = 'credential:crd_1' where authorization_id = '" + s.held + "'", audit.Contradicted, "holds.status", s.held},
		{"reviewer of a hold", "update holds set resolved_by = 'credential:crd_1' where authorization_id = '" + s.approved + "'", audit.Contradicted, "holds.resolved_by", s.approved},
		{"made-up review", `insert into reviews (authorization_id, environment_id, reviewer, principal, resolution, at)
			values ('` + s.approved + `', '` + w.ID + `', 'credential:crd_1', 'credential:crd_1', 'approve', now())`,
			audit.Unsupported, "reviews", s.approved},
		{"proof used again", "update proofs set status = 'active', consumed_at = null, consumed_by = null where authorization_id = '" + s.child + "'",
			audit.Contradicted, "proofs.status", s.child},
		{"challenge", "update challenges set status = 'completed' where authorization_id = '" + s.asked + "'", audit.Contradicted, "challenges.status", s.asked},
		{"what the person was shown", `update challenges set display = (display::jsonb || '{"action": "Something else"}')::json where authorization_id = '` + s.completed + "'",
			audit.Contradicted, "challenges.display", s.completed},
		{"action hash", "update authorizations set action_hash = 'sha256:0' where id = '" + s.allowed + "'", audit.Contradicted, "authorizations.action_hash", s.allowed},
		{"revoked proof", "update proofs set status = 'active', revoked_at = null where authorization_id = '" + s.voided + "'", audit.Contradicted, "proofs.status", s.voided},
		{"outcome", "update authorizations set outcome = 'cancelled' where id = '" + s.reported + "'", audit.Contradicted, "authorizations.outcome", s.reported},
		{"audience, which only the digest covers", "update authorizations set audience = 'elsewhere' where id = '" + s.completed + "'",
			audit.Contradicted, "authorizations", s.completed},
		{"documents of a different decision", `with other as materialized (select assurance, explanation from authorizations where id = '` + s.allowed + `')
			update authorizations a set assurance = other.assurance, explanation = other.explanation from other where a.id = '` + s.asked + "'",
			audit.Contradicted, "authorizations", s.asked},
		{"documents of another form", "update authorizations set assurance = '[]', explanation = '{}' where id = '" + s.child + "'", audit.Contradicted, "authorizations", s.child},
		{"removed decision", "delete from authorizations where id = '" + s.spare + "'", audit.Missing, "authorizations", s.spare},
		{"made-up template", `insert into templates (id, tenant_id, environment_id, subject_uid, modality, device_class, version, status, model_version, data, created_at, updated_at)
			select 'tpl_mallory', tenant_id, environment_id, subject_uid, modality, device_class, 99, 'superseded', model_version, data, now(), now()
			from templates where status = 'active' and subject_uid = ` + uid + " limit 1", audit.Unsupported, "templates", ""},
		{"template out of force", "update templates set status = 'retired' where status = 'active' and modality = 'keystroke' and subject_uid = " + uid, audit.Contradicted, "templates.status", ""},
		{"made-up passkey", `insert into passkeys (id, tenant_id, environment_id, subject_uid, credential_id, public_key, attestation_type, aaguid, transports,
			sign_count, user_verified, backup_eligible, backup_state, created_at) select 'psk_mallory', tenant_id, environment_id, uid, '\x01', '\x01', 'none', '\x00',
			'{}', 0, true, false, false, now() from subjects where uid = ` + uid, audit.Unsupported, "passkeys", ""},
		{"revocation undone", "update subjects set status = 'active' where environment_id = '" + w.ID + "' and status = 'revoked'", audit.Contradicted, "subjects.status", ""},
		{"made-up erasure", `insert into erasures (id, tenant_id, environment_id, status, requested_by, requested_at, completed_at, removed)
			values ('ers_mallory_` + w.ID + `', '` + w.TenantID + "', '" + w.ID + `', 'completed', 'credential:crd_1', now(), now(), '{}')`, audit.Unsupported, "erasures", "ers_mallory_" + w.ID},
		{"receipt of an erasure", `update erasures set removed = '{"frames": 9}' where id = '` + s.erasure + "'", audit.Contradicted, "erasures.removed", s.erasure},
		{"entry made to look erased", `update events set data = null, salt = null, subject = null, subject_uid = null, request_id = null, erased_at = now()
			where environment_id = '` + w.ID + "' and type = 'hold.opened' and authorization_id = '" + s.approved + "'", audit.Unsupported, "", ""},
		{"erased decision brought back", `insert into authorizations select (jsonb_populate_record(a, jsonb_build_object('id', '` + s.erased + `', 'nonce', '` + s.erased +
			`', 'idempotency_key', '` + s.erased + `'))).* from authorizations a where id = '` + s.allowed + "'", audit.Contradicted, "authorizations", s.erased},
		{"made-up decision", `insert into authorizations select (jsonb_populate_record(a, jsonb_build_object('id', 'azn_mallory_` + w.ID + `', 'nonce', 'm', 'idempotency_key', 'm'))).*
			from authorizations a where id = '` + s.allowed + "'", audit.Unsupported, "authorizations", "azn_mallory_" + w.ID},
	} {
		t.Run(c.name, func(t *testing.T) {
			tag, err := shared.Store.Pool().Exec(t.Context(), c.sql)
			require.NoError(t, err, c.name)
			require.NotZero(t, tag.RowsAffected(), "%s: the tampering must change something", c.name)
			result := w.verified(t)
			require.Condition(t, func() bool {
				for _, f := range result.Findings {
					if !slices.Contains(seen, f) && f.Kind == c.kind && f.Field == c.field && (c.target == "" || f.Target == c.target) {
						seen = result.Findings
						return true
					}
				}
				return false
			}, "%s: want %s %s of %s, found %+v", c.name, c.kind, c.field, c.target, result.Findings)
		})
	}

	trail, err := audit.TrailOf(t.Context(), shared.Store, w.scope(), s.held, nil)
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, trail.WriteText(&text))
	require.Contains(t, text.String(), "CONTRADICTION: what is stored is not what the audit log says")
	require.Contains(t, text.String(), `authorizations.decision: the log says "hold", stored is "allow"`)
}
