package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

// decided writes a chain: a decision that asked for a challenge, the one that followed and held, and the allow that a
// reviewer's approval led to, with its proof consumed.
func (b *bundle) decided() {
	b.t.Helper()
	insert := func(sql string, args ...any) {
		b.t.Helper()
		testenv.Exec(b.t, b.st, sql, args...)
	}
	insert(`insert into subjects (uid, tenant_id, environment_id, external_id, status, enrollment, created_at, updated_at)
		values ('sub_1', 'tnt_1', 'env_1', 'user-4711', 'active', 'enrolled', $1, $1)`, noon)
	insert(`insert into actions values ('act_1', 'tnt_1', 'env_1', 'payment.release', 'Release', 'Money leaves', 'high', 'payment', '{}', 'enforce', '{}', '{}',
		300, 2, $1, $1, null)`, noon)
	insert(`insert into policy_versions (id, tenant_id, environment_id, action_id, version, status, content_hash, requirements, context_schema, allowed_audiences,
		allowed_callers, proof_ttl_seconds, created_at, created_by, activated_at, activated_by)
		values ('pol_2', 'tnt_1', 'env_1', 'act_1', 2, 'active', 'sha256:policy', '{"coverage_min": "partial"}', '{}', '{}', '{}', 300, $1, 'credential:crd_9',
		$1, 'credential:crd_9')`, noon)
	for i, a := range []struct{ id, parent, decision string }{
		{"azn_1", "", "challenge"}, {"azn_2", "azn_1", "hold"}, {"azn_3", "azn_2", "allow"},
	} {
		insert(`insert into authorizations (id, tenant_id, environment_id, credential_id, action_id, action_key, subject_uid, session_id, parent_id, actor,
			resource_type, resource_digest, context_digest, action_hash, audience, nonce, request_hash, requested_at, decided_at, latency_ms, trace_id, mode,
			decision, reason_codes, policy_version, policy_hash, coverage, insufficient, assurance, explanation, response)
			values ($1, 'tnt_1', 'env_1', 'crd_1', 'act_1', 'payment.release', 'sub_1', 'ses_1', nullif($2, ''), 'user-4711', 'payment', 'sha256:resource',
			'sha256:context', 'sha256:hash', 'bank', 'nonce', '', $4, $4, 5, 'trace', 'enforce', $3, '{coverage_below_minimum}', 2, 'sha256:policy', 'sparse',
			false, $5, '[{"requirement": "subject", "wanted": "active", "found": "active", "passed": true, "effect": "allow"},
			{"requirement": "coverage", "wanted": "at least partial", "found": "sparse", "passed": false, "effect": "hold"}]', '{}')`, a.id, a.parent, a.decision, noon.Add(time.Duration(i)*time.Minute),
			`{"coverage": "sparse", "evidence_windows": 4, "active_seconds": 31.5, "modalities_present": ["keystroke"], "freshness_ms": 900, "model_version": "m1",
			"claims": [{"claim": "operator_continuity", "status": "likely", "coverage": "sparse", "reason_codes": ["match_likely"]}]}`)
	}
	insert(`insert into challenges values ('chl_1', 'tnt_1', 'env_1', 'azn_1', 'sub_1', 'completed', '{passkey}', '{"action": "Release"}', 'sha256:d', 'sha256:hash', '',
		0, $1, $1, $1, 'passkey', 'phishing_resistant', null, 'azn_2')`, noon)
	insert(`insert into holds values ('azn_2', 'tnt_1', 'env_1', 'act_1', 'sub_1', 'high', 'approved', 1, $1, $1, null, $1, $1, 'credential:crd_2', 'azn_3')`, noon)
	insert(`insert into reviews values ('azn_2', 'credential:crd_2', 'approve', 'sha256:note', $1, null, 'credential:crd_2', 'env_1')`, noon)
	insert(`insert into proofs values ('prf_1', 'tnt_1', 'env_1', 'azn_3', 'sub_1', 'kid_1', 'bank', 'consumed', $1, $1, $1,
		'credential:crd_1', null, null, 'SECRET.COMPACT.PROOF')`, noon)
	e := b.entry(0)
	e.AuthorizationID, e.Data = "azn_3", events.ProofConsumedData{ProofID: "prf_1"}
	require.NoError(b.t, events.Append(b.t.Context(), b.st.Q, e))
}

type fixedHistories struct{ challenges, holds []string }

func (f *fixedHistories) Histories(_ context.Context, challenges, holds []string) ([]audit.WorkflowHistory, error) {
	f.challenges, f.holds = challenges, holds
	return []audit.WorkflowHistory{{ID: "hold/azn_2", Run: "run-1", Status: "Completed",
		Lines: []audit.HistoryEvent{{At: "2026-03-01T12:00:00.000Z", Type: "TimerStarted", Detail: "36h0m0s"}}}}, nil
}

func TestTrailTellsTheWholeChainFromAnyOfItsDecisions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.decided()
	for _, id := range []string{"azn_1", "azn_2", "azn_3"} {
		h := &fixedHistories{}
		trail, err := audit.TrailOf(t.Context(), b.st, b.scope, id, h)
		require.NoError(t, err)
		require.Equal(t, []string{"chl_1"}, h.challenges)
		require.Equal(t, []string{"azn_2"}, h.holds)
		require.Equal(t, "user-4711", trail.Subject)
		require.Len(t, trail.Decisions, 3)
		require.Equal(t, []string{"challenge", "hold", "allow"},
			[]string{trail.Decisions[0].Decision, trail.Decisions[1].Decision, trail.Decisions[2].Decision})
		require.Equal(t, "consumed", trail.Decisions[2].Proof.Status)
		require.Equal(t, 4, trail.Decisions[0].Evidence.Windows)
		require.Len(t, trail.Log, 1)
	}
}

func TestTrailReadsAsAnAccount(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.decided()
	trail, err := audit.TrailOf(t.Context(), b.st, b.scope, "azn_1", &fixedHistories{})
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, trail.WriteText(&text))
	for _, want := range []string{
		"Authorization azn_1", "subject user-4711, action payment.release", "1. Decided CHALLENGE at 2026-03-01T12:00:00.000Z (azn_1)",
		"reasons: coverage_below_minimum", "Evidence: coverage sparse, 4 windows, 31.5 active seconds, keystroke; session ses_1; model m1",
		"operator_continuity: likely (coverage sparse; match_likely)", "Policy version 2, sha256:policy", `coverage_min: "partial"`, "In short", "its text is above", "NOT MET coverage: wanted at least partial, found sparse, so hold",
		"Challenge chl_1: completed", "method passkey, strength phishing_resistant", "Review: approved", "approve by credential:crd_2, note sha256:note",
		"follows from azn_2", "Proof prf_1: consumed", "consumed 2026-03-01T12:00:00.000Z by credential:crd_1", "proof.consumed",
		"Workflow hold/azn_2, run run-1: Completed", "TimerStarted  36h0m0s",
	} {
		require.Contains(t, text.String(), want)
	}
	raw, err := json.Marshal(trail)
	require.NoError(t, err)
	require.NotContains(t, text.String()+string(raw), "SECRET", "a proof itself is never shown")
}

func TestTrailKeepsToItsScope(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.decided()
	for _, s := range []pg.Scope{{Tenant: "tnt_1", Environment: "env_2"}, {Tenant: "tnt_2", Environment: "env_1"}} {
		_, err := audit.TrailOf(t.Context(), b.st, s, "azn_1", nil)
		require.ErrorIs(t, err, pg.ErrNotFound)
	}
}
