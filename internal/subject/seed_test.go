package subject_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/display"
	"github.com/countersign-dev/countersign/internal/authz/lists"
	"github.com/countersign-dev/countersign/internal/authz/reviewnote"
	"github.com/countersign-dev/countersign/internal/authz/storedvalues"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/internal/subject/research"
	"github.com/countersign-dev/countersign/models"
)

// seeded are the ids of the rows that seed inserted.
type seeded struct {
	authorization, challenge, held, proof, session, recovery, enrollment string
}

// seed inserts a row of the subject into every table that can have one.
func (b *bundle) seed(t *testing.T, s models.Subject) seeded {
	t.Helper()
	now := b.clock.Now()
	out := seeded{
		authorization: ids.New(ids.Authorization), challenge: ids.New(ids.Challenge), held: ids.New(ids.Authorization),
		proof: ids.New(ids.Proof), session: ids.New(ids.Session), recovery: ids.New(ids.Recovery), enrollment: ids.New(ids.Enrollment),
	}
	b.exec(t, `insert into sessions (id, tenant_id, environment_id, subject_uid, device_class, status, started_at, last_activity_at, state)
		values ($1, $2, $3, $4, 'desktop', 'active', $5, $5, '\x01')`, out.session, s.TenantID, s.EnvironmentID, s.UID, now)
	b.exec(t, `insert into frames (session_id, frame_id, environment_id, subject_uid, purpose, status, reason_codes, received_at, at, duration_ms, digest, vector)
		values ($1, 'f1', $2, $3, 'score', 'accepted', '{}', $4, $4, 1000, '\x02', $5)`, out.session, s.EnvironmentID, s.UID, now, vector(t))
	b.exec(t, `insert into frame_digests (environment_id, digest, subject_uid, session_id, seen_at) values ($1, $2, $3, $4, $5)`,
		s.EnvironmentID, []byte(s.UID), s.UID, out.session, now)
	b.exec(t, `insert into typed_passages (environment_id, subject_uid, device_class, block, passages, updated_at)
		values ($1, $2, 'desktop', 0, '\x05', $3)`, s.EnvironmentID, s.UID, now)
	b.exec(t, `insert into templates (id, tenant_id, environment_id, subject_uid, modality, device_class, version, status, model_version, data, created_at, updated_at)
		values ($1, $2, $3, $4, 'keystroke', 'desktop', 1, 'active', 'm1', '\x04', $5, $5)`, ids.New(ids.Template), s.TenantID, s.EnvironmentID, s.UID, now)
	b.exec(t, `insert into background_shares (tenant_id, environment_id, subject_uid, modality, digest, counted_at)
		values ($1, $2, $3, 'keystroke', '\x06', $4)`, s.TenantID, s.EnvironmentID, s.UID, now)
	b.exec(t, `insert into enrollments (id, tenant_id, environment_id, subject_uid, session_id, anchor, status, force, windows_accepted, created_at)
		values ($1, $2, $3, $4, $5, 'none', 'pending', false, 3, $6)`, out.enrollment, s.TenantID, s.EnvironmentID, s.UID, out.session, now)
	b.exec(t, `insert into recoveries (id, tenant_id, environment_id, subject_uid, status, anchor, created_at, ready_at, expires_at)
		values ($1, $2, $3, $4, 'pending', 'none', $5, $5, $5)`, out.recovery, s.TenantID, s.EnvironmentID, s.UID, now)
	b.exec(t, `insert into research_consents (id, environment_id, subject_uid, consented, recorded_at) values ($1, $2, $3, true, $4)`,
		ids.New(ids.Research), s.EnvironmentID, s.UID, now)
	b.exec(t, "update subjects set research_consent = true where uid = $1", s.UID)
	kept, err := b.research(t).Save(t.Context(), b.store.Q, b.scope, research.Vector{SubjectUID: s.UID, DeviceClass: "desktop", Data: vector(t), At: now})
	require.NoError(t, err)
	require.True(t, kept)
	b.list(t, s.ExternalID)
	b.exec(t, "insert into subject_aliases (environment_id, tenant_id, subject_uid, mac, format, created_at) values ($1, $2, $3, $4, 'opaque', $5)",
		s.EnvironmentID, s.TenantID, s.UID, []byte(s.UID), now)
	b.exec(t, `insert into signals (id, tenant_id, environment_id, stream_id, token, place, type, eased, subject_uid, at, received_at, effects)
		values ($1, $2, $3, 'sst_1', $4, 0, 'session-revoked', false, $5, $6, $6, '{}')`, ids.New(ids.Signal), s.TenantID, s.EnvironmentID, []byte(s.UID), s.UID, now)
	b.exec(t, `insert into registration_grants (mac, id, tenant_id, environment_id, credential_id, subject_uid, created_at, expires_at)
		values ($1, 'grt_1', $2, $3, 'crd_1', $4, $5, $6)`, []byte(s.UID), s.TenantID, s.EnvironmentID, s.UID, now, now.Add(time.Minute))
	b.seedPasskey(t, s.UID, ids.New(ids.Passkey), nil)
	b.seedCredential(t, s, now)
	b.seedDecisions(t, s, out, now)
	return out
}

// list adds a value to a list, which is created if there is none.
func (b *bundle) list(t *testing.T, value string) {
	t.Helper()
	service, by := lists.New(b.store, b.clock, b.keys), lists.By{Actor: "cli:test"}
	l, err := service.Named(t.Context(), b.scope, "seeded")
	if err != nil {
		l, err = service.Create(t.Context(), b.scope, by, lists.Draft{Name: "seeded", Kind: models.ListText})
		require.NoError(t, err)
	}
	_, err = service.Change(t.Context(), b.scope, by, l.ID, lists.Edit{Add: []lists.NewEntry{{Value: value, Reason: "Reported."}}})
	require.NoError(t, err)
}

func (b *bundle) seedPasskey(t *testing.T, uid, id string, revoked *time.Time) {
	t.Helper()
	b.exec(t, `insert into passkeys (id, tenant_id, environment_id, subject_uid, credential_id, public_key, attestation_type, aaguid, transports,
		sign_count, user_verified, backup_eligible, backup_state, created_at, revoked_at)
		values ($1, $2, $3, $4, $5, '\x06', 'none', '\x07', '{internal}', 1, true, false, false, $6, $7)`,
		id, b.env.TenantID, b.env.ID, uid, []byte(id), b.clock.Now(), revoked)
}

func (b *bundle) seedCredential(t *testing.T, s models.Subject, now time.Time) {
	t.Helper()
	b.exec(t, `insert into credentials (id, tenant_id, environment_id, scope, name, preview, created_at, created_by)
		values ($1, $2, $3, 'server', '', 'sk_test_', $4, 'test') on conflict do nothing`, b.principal.CredentialID, s.TenantID, s.EnvironmentID, now)
	b.exec(t, `insert into client_tokens (mac, id, tenant_id, environment_id, credential_id, subject_uid, origin, created_at, expires_at)
		values ($1, 'ctk_1', $2, $3, $4, $5, 'https://shop.example', $6, $7)`,
		[]byte(s.UID), s.TenantID, s.EnvironmentID, b.principal.CredentialID, s.UID, now, now.Add(time.Hour))
	for _, body := range []string{`{"id":"` + s.ExternalID + `"}`, `{"id":"` + s.ExternalID + `-2"}`} {
		b.seedAnswer(t, ids.New(ids.Request), body, now)
	}
}

// seedAnswer stores a response for the Idempotency-Key header like the API.
func (b *bundle) seedAnswer(t *testing.T, key, body string, now time.Time) {
	t.Helper()
	sealed, err := b.keys.Seal(subject.ResponsePurpose, []byte(body), []byte(b.principal.CredentialID+" "+key))
	require.NoError(t, err)
	b.exec(t, `insert into idempotency_keys (environment_id, credential_id, key, operation, request_hash, status, body, created_at)
		values ($5, $1, $2, 'createSubject', '\x08', 201, $3, $4)`, b.principal.CredentialID, key, sealed, now, b.principal.EnvironmentID)
}

func (b *bundle) seedDecisions(t *testing.T, s models.Subject, out seeded, now time.Time) {
	t.Helper()
	for i, id := range []string{out.authorization, out.held} {
		b.exec(t, `insert into authorizations (id, tenant_id, environment_id, credential_id, action_id, action_key, subject_uid, actor, resource_type,
			resource_digest, context_digest, action_hash, audience, nonce, idempotency_key, request_hash, requested_at, decided_at, latency_ms, trace_id,
			mode, decision, reason_codes, policy_version, policy_hash, coverage, insufficient, assurance, explanation, response)
			values ($1, $2, $3, $4, 'act_1', 'payment.release', $5, $6, 'payment', 'sha256:1', 'sha256:2', 'sha256:3', 'payments', $1, $1, '09', $7, $7,
			3, 'trace', 'enforce', $8, '{}', 1, 'sha256:4', 'partial', false, $9, '[]', $10)`,
			id, s.TenantID, s.EnvironmentID, b.principal.CredentialID, s.UID, s.ExternalID, now, []string{"challenge", "hold"}[i],
			`{"subject": "`+s.ExternalID+`"}`, []byte(`{"subject": "`+s.ExternalID+`"}`))
	}
	b.exec(t, `insert into challenges (id, tenant_id, environment_id, authorization_id, subject_uid, status, methods, display, display_digest, action_hash,
		random, created_at, expires_at) values ($1, $2, $3, $4, $5, 'open', '{passkey}', '{}', 'sha256:5', 'sha256:3', '\x0a', $6, $7)`,
		out.challenge, s.TenantID, s.EnvironmentID, out.authorization, s.UID, now, now.Add(5*time.Minute))
	shown, err := display.NewVault(b.keys).Seal(out.authorization, []display.Detail{{Label: "Amount", Value: "250.00 EUR"}}, nil)
	require.NoError(t, err)
	b.exec(t, `insert into shown_details (authorization_id, tenant_id, environment_id, subject_uid, details, decided_at) values ($1, $2, $3, $4, $5, $6)`,
		out.authorization, s.TenantID, s.EnvironmentID, s.UID, shown, now)
	kept, err := storedvalues.NewVault(b.keys).Seal(out.authorization, &storedvalues.Values{Kept: []string{"/amount"}, Context: []byte(`{"amount": 250}`)})
	require.NoError(t, err)
	b.exec(t, `insert into kept_values (authorization_id, tenant_id, environment_id, subject_uid, kept, decided_at) values ($1, $2, $3, $4, $5, $6)`,
		out.authorization, s.TenantID, s.EnvironmentID, s.UID, kept, now)
	b.exec(t, `insert into aggregate_values (request_id, tenant_id, environment_id, subject_uid, resource_digest, field, action_key, decision, first, currency,
		amount, decided_at, reserved, reserved_at) values ($1, $2, $3, $4, 'sha256:1', 'amount', 'payment.release', 'challenge', true, 'EUR', 250.00, $5, 'open', $5)`,
		out.authorization, s.TenantID, s.EnvironmentID, s.UID, now)
	b.exec(t, `insert into standing_approvals (id, tenant_id, environment_id, subject_uid, action_id, action_key, policy_version, policy_hash, mode, source, audience,
		resource_type, terms, max_uses, currency, ends_at, created_at, created_by, status, authorization_id) values ('sta_' || $4::text, $1, $2, $3, 'act_1', 'payment.release', 1,
		'sha256:4', 'enforce', 'passkey', 'payments', 'payment', '\x01', 5, '', $5::timestamptz + interval '1 hour', $5, 'credential:x', 'active', $4)`,
		s.TenantID, s.EnvironmentID, s.UID, out.authorization, now)
	b.exec(t, `insert into aggregate_locks (tenant_id, environment_id, subject_uid, resource_digest, field, locked_at) values ($1, $2, $3, '', 'amount', $4)`,
		s.TenantID, s.EnvironmentID, s.UID, now)
	b.exec(t, `insert into challenge_links (mac, environment_id, challenge_id, credential_id, created_at, expires_at) values ($1, $4, $2, 'crd_1', $3, $3)`, []byte(out.challenge), out.challenge, now, s.EnvironmentID)
	b.exec(t, `insert into holds (authorization_id, tenant_id, environment_id, action_id, subject_uid, risk_class, status, opened_at, remind_at, due_at)
		values ($1, $2, $3, 'act_1', $4, 'high', 'pending', $5, $5, $6)`, out.held, s.TenantID, s.EnvironmentID, s.UID, now, now.Add(time.Hour))
	b.exec(t, `insert into hold_steps (authorization_id, tenant_id, environment_id, step, name, approvals, within_seconds, opened_at, due_at)
		values ($1, $2, $3, 1, 'team', 1, 3600, $4, $5)`, out.held, s.TenantID, s.EnvironmentID, now, now.Add(time.Hour))
	b.exec(t, `insert into reviews (authorization_id, environment_id, reviewer, principal, resolution, at) values ($1, $3, 'person:ada', 'person:ada', 'approve', $2)`, out.held, now, s.EnvironmentID)
	b.exec(t, `insert into after_reviews select $1::text, $2, $3, 'act_1', 'person:ada', 'person:' || $1::text, 'credential:x', null, 'incident', 'sha256:6', 1, $4::timestamptz, $5::timestamptz, 'open'`,
		out.held, s.TenantID, s.EnvironmentID, now, now.Add(time.Hour))
	b.exec(t, `insert into after_verdicts select $1, $3, $2, 'person:eve', 'person:eve', 'justified', 'sha256:7', $4::timestamptz`, out.held, s.TenantID, s.EnvironmentID, now)
	note, err := reviewnote.NewVault(b.keys).Seal(out.held, "person:ada", "called back")
	require.NoError(t, err)
	b.exec(t, `insert into review_notes (authorization_id, reviewer, tenant_id, environment_id, subject_uid, note_digest, note, written_at)
		values ($1, 'person:ada', $2, $3, $4, 'sha256:6', $5, $6)`, out.held, s.TenantID, s.EnvironmentID, s.UID, note, now)
	b.exec(t, `insert into move_requests (target, digest, environment_id, authorization_id, move, actor, request_id, requested_at)
		values ($1, '\x0b', $4, $2, 'cancel', 'credential:x', 'req_1', $3)`, out.challenge, out.authorization, now, s.EnvironmentID)
	b.exec(t, `insert into proofs (jti, tenant_id, environment_id, authorization_id, subject_uid, kid, audience, status, sealed, issued_at, expires_at)
		values ($1, $2, $3, $4, $5, 'kid', 'payments', 'active', '\x0c', $6, $7)`,
		out.proof, s.TenantID, s.EnvironmentID, out.authorization, s.UID, now, now.Add(5*time.Minute))
}
