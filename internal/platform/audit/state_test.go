package audit_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

// ptr is a pointer to a value.
func ptr[T any](v T) *T { return &v }

// consistent is a held decision with all that may hang on one, and the entries that made it.
func consistent(t *testing.T) audit.DecisionRecord {
	t.Helper()
	display := models.JSON(`{"action": "Release a payment"}`)
	shown, err := canonical.Digest(json.RawMessage(display))
	require.NoError(t, err)
	due := noon.Add(time.Hour)
	a := models.Authorization{ID: "azn_1", TenantID: "tnt_1", EnvironmentID: "env_1", CredentialID: "crd_1", ActionID: "act_1", ActionKey: "payment.release",
		SubjectUID: "sub_1", Audience: "bank", Nonce: "nonce", RequestedAt: noon, DecidedAt: noon, TraceID: "trace", Mode: models.ModeEnforce,
		Decision: "hold", ReasonCodes: models.Strings{"evidence_insufficient"}, PolicyVersion: 2, PolicyHash: "sha256:policy", Coverage: "none",
		ActionHash: "sha256:hash", Outcome: ptr("executed"), Assurance: models.JSON(`{"claims": [{"claim": "automation", "status": "not_detected"}]}`),
		Explanation: models.JSON(`[{"requirement": "coverage", "wanted": "partial", "found": "none", "effect": "hold"}]`)}
	p := models.Proof{JTI: "prf_1", AuthorizationID: a.ID, KID: "kid_1", Audience: "bank", Status: models.ProofConsumed, IssuedAt: noon, ExpiresAt: due,
		ConsumedBy: ptr("credential:crd_1")}
	a.OutcomeReportedAt, p.ConsumedAt = &noon, &noon
	c := models.Challenge{ID: "chl_1", AuthorizationID: a.ID, Status: models.ChallengeCompleted, Methods: models.Strings{"passkey"}, Display: display,
		DisplayDigest: shown, ExpiresAt: due, SettledAt: &noon, MethodUsed: ptr("passkey"), ChildAuthorizationID: ptr("azn_2")}
	h := models.Hold{AuthorizationID: a.ID, RiskClass: "high", Status: models.HoldApproved, ApprovalsRequired: 1, DueAt: due, ResolvedAt: &noon,
		ResolvedBy: ptr("credential:crd_2"), ChildAuthorizationID: ptr("azn_3")}
	teams := []models.HoldTeam{{AuthorizationID: a.ID, Team: "finance", Approvals: 1}}
	review := models.Review{AuthorizationID: a.ID, Reviewer: "credential:crd_2", Resolution: "approve", At: noon}
	digest := func(text string, err error) string {
		require.NoError(t, err)
		return text
	}
	entry := func(actor string, data events.Data) models.Event {
		row, err := events.Row(events.Entry{Scope: pg.Scope{Tenant: "tnt_1", Environment: "env_1"}, At: noon, SubjectUID: "sub_1", Subject: "user-1",
			Action: a.ActionKey, AuthorizationID: a.ID, Decision: a.Decision, Actor: actor, Data: data})
		require.NoError(t, err)
		return row
	}
	decided := entry("credential:crd_1", events.AuthorizationDecidedData{
		Mode: "enforce", PolicyVersion: 2, ReasonCodes: []string{"evidence_insufficient"}, Coverage: "none", InsufficientEvidence: new(false),
		ActionHash: "sha256:hash", TraceID: "trace", ProofID: "prf_1", LatencyMS: new(0), RecordDigest: digest(pg.MadeDecision(a, &p))})
	return audit.DecisionRecord{
		Decided: decided, Authorization: &a, Proof: &p,
		Challenge: &c, Hold: &h, Teams: teams, Reviews: []models.Review{review},
		Events: []models.Event{
			decided,
			entry("credential:crd_1", events.ChallengeRequestedData{Challenge: "chl_1", Methods: []string{"passkey"},
				ExpiresAt: apitime.Time(due), DisplayDigest: shown, RecordDigest: digest(pg.RecordDigest(c))}),
			entry("credential:crd_1", events.ChallengeCompletedData{Challenge: "chl_1", Method: "passkey", ChildAuthorization: "azn_2"}),
			entry("credential:crd_1", events.HoldOpenedData{RiskClass: "high", DueAt: apitime.Time(due), ApprovalsRequired: new(1), RecordDigest: digest(pg.MadeHold(h, nil, teams))}),
			entry("credential:crd_2", events.HoldApprovedData{ResolvedBy: "credential:crd_2", ChildAuthorization: "azn_3", RecordDigest: digest(pg.RecordDigest(review))}),
			entry("credential:crd_1", events.ProofConsumedData{ProofID: "prf_1"}),
			entry("credential:crd_1", events.OutcomeReportedData{Outcome: "executed"}),
		},
	}
}

func TestContradictionsNameTheFieldAndBothValues(t *testing.T) {
	t.Parallel()
	require.Empty(t, audit.Contradictions(consistent(t)))
	for field, tamper := range map[string]func(*audit.DecisionRecord){
		"authorizations.decision":       func(d *audit.DecisionRecord) { d.Authorization.Decision = "allow" },
		"authorizations.action_key":     func(d *audit.DecisionRecord) { d.Authorization.ActionKey = "payment.read" },
		"authorizations.decided_at":     func(d *audit.DecisionRecord) { d.Authorization.DecidedAt = noon.Add(time.Second) },
		"authorizations.subject_uid":    func(d *audit.DecisionRecord) { d.Authorization.SubjectUID = "sub_2" },
		"authorizations.mode":           func(d *audit.DecisionRecord) { d.Authorization.Mode = models.ModeTest },
		"authorizations.policy_version": func(d *audit.DecisionRecord) { d.Authorization.PolicyVersion = 1 },
		"authorizations.reason_codes":   func(d *audit.DecisionRecord) { d.Authorization.ReasonCodes = models.Strings{"all_requirements_met"} },
		"authorizations.coverage":       func(d *audit.DecisionRecord) { d.Authorization.Coverage = "sufficient" },
		"authorizations.insufficient":   func(d *audit.DecisionRecord) { d.Authorization.Insufficient = true },
		"authorizations.action_hash":    func(d *audit.DecisionRecord) { d.Authorization.ActionHash = "sha256:other" },
		"authorizations.parent_id":      func(d *audit.DecisionRecord) { d.Authorization.ParentID = ptr("azn_0") },
		"authorizations.outcome":        func(d *audit.DecisionRecord) { d.Authorization.Outcome = nil },
		"authorizations":                func(d *audit.DecisionRecord) { d.Authorization.Audience = "elsewhere" },
		"challenges.status":             func(d *audit.DecisionRecord) { d.Challenge.Status = models.ChallengeOpen },
		"challenges":                    func(d *audit.DecisionRecord) { d.Challenge = nil },
		"challenges.display":            func(d *audit.DecisionRecord) { d.Challenge.Display = models.JSON(`{"action": "Read"}`) },
		"challenges.method_used":        func(d *audit.DecisionRecord) { d.Challenge.MethodUsed = ptr("sandbox_confirm") },
		"challenges.expires_at":         func(d *audit.DecisionRecord) { d.Challenge.ExpiresAt = noon.Add(24 * time.Hour) },
		"holds.status":                  func(d *audit.DecisionRecord) { d.Hold.Status = models.HoldRejected },
		"holds":                         func(d *audit.DecisionRecord) { d.Hold = nil },
		"holds.approvals_required":      func(d *audit.DecisionRecord) { d.Hold.ApprovalsRequired = 0 },
		"holds.resolved_by":             func(d *audit.DecisionRecord) { d.Hold.ResolvedBy = ptr("credential:crd_1") },
		"reviews":                       func(d *audit.DecisionRecord) { d.Reviews[0].Reviewer = "credential:crd_3" },
		"proofs.status":                 func(d *audit.DecisionRecord) { d.Proof.Status = models.ProofActive },
		"proofs.consumed_by":            func(d *audit.DecisionRecord) { d.Proof.ConsumedBy = nil },
		"proofs":                        func(d *audit.DecisionRecord) { d.Proof = nil },
	} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			d := consistent(t)
			tamper(&d)
			var fields []string
			for _, f := range audit.Contradictions(d) {
				fields = append(fields, f.Field)
				require.Equal(t, "azn_1", f.Target)
				require.NotEmpty(t, f.Detail)
			}
			require.Contains(t, fields, field)
		})
	}
	t.Run("evidence and explanation", func(t *testing.T) {
		t.Parallel()
		for _, tamper := range []func(*models.Authorization){
			func(a *models.Authorization) {
				a.Assurance = models.JSON(`{"claims": [{"claim": "automation", "status": "detected"}]}`)
			},
			func(a *models.Authorization) { a.Explanation = models.JSON(`[]`) },
		} {
			d := consistent(t)
			tamper(d.Authorization)
			found := audit.Contradictions(d)
			require.Len(t, found, 1)
			require.Equal(t, "authorizations", found[0].Field)
		}
	})
}

func TestTrailShowsContradictionsAndWhatExpired(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.decided()
	_, err := b.st.Pool().Exec(t.Context(), "update proofs set status = 'active', consumed_at = null, consumed_by = null")
	require.NoError(t, err)
	trail, err := audit.TrailOf(t.Context(), b.st, b.scope, "azn_3", nil)
	require.NoError(t, err)
	last := trail.Decisions[2]
	require.Equal(t, "expired", last.Proof.Status, "an active proof whose time is over has expired")
	require.NotEmpty(t, last.Contradictions)
	require.Equal(t, audit.Unsupported, last.Contradictions[0].Kind, "these decisions have no entry in the log")
}

// BenchmarkVerifyState measures the comparison of what is stored with the log, and the memory that it needs: one iteration
// is one decision. The heap does not grow with their number (-benchtime 1000x, 100000x).
func BenchmarkVerifyState(b *testing.B) {
	st := testenv.TamperedStore(b)
	_, err := st.Pool().Exec(b.Context(), "insert into tenants values ('tnt_1', 'Test', $1)", noon)
	require.NoError(b, err)
	require.NoError(b, tenancy.CreateEnvironment(b.Context(), st.Q, models.Environment{ID: "env_1", TenantID: "tnt_1", Kind: models.Sandbox, RPID: "localhost",
		Settings: models.Settings{RPName: "Test", ChallengeTTLSeconds: 300, HoldTTLSeconds: 259200}, CreatedAt: noon}))
	conn, err := st.Pool().Acquire(b.Context())
	require.NoError(b, err)
	defer conn.Release()
	_, err = conn.Exec(b.Context(), "set statement_timeout = 0")
	require.NoError(b, err)
	_, err = conn.Exec(b.Context(), fmt.Sprintf(`insert into authorizations (id, tenant_id, environment_id, credential_id, action_id, action_key, subject_uid, actor,
		resource_type, resource_digest, context_digest, action_hash, audience, nonce, request_hash, requested_at, decided_at, latency_ms, trace_id, mode,
		decision, reason_codes, policy_version, policy_hash, coverage, insufficient, assurance, explanation, response)
		select 'azn_' || n, 'tnt_1', 'env_1', 'crd_1', 'act_1', 'payment.release', 'sub_1', 'user', 'payment', 'd', 'd', 'sha256:hash', 'bank', n::text, '',
		$1, $1, 5, 'trace', 'test', 'allow', '{met}', 2, 'sha256:policy', 'none', false, jsonb_build_object('filler', repeat('x', 1500)), '[]', '{}' from generate_series(1, %d) n`, b.N), noon)
	require.NoError(b, err)
	_, err = conn.Exec(b.Context(), fmt.Sprintf(`insert into events (id, tenant_id, environment_id, type, at, subject_uid, subject, action, authorization_id, decision,
		actor, data, salt, digest) select 'evt_' || lpad(n::text, 9, '0'), 'tnt_1', 'env_1', 'authorization.decided', $1, 'sub_1', 'user', 'payment.release', 'azn_' || n, 'allow', 'credential:crd_1',
		'{"mode": "test", "policy_version": 2, "reason_codes": ["met"], "coverage": "none", "insufficient_evidence": false, "action_hash": "sha256:hash", "trace_id": "trace"}', '', ''
		from generate_series(1, %d) n`, b.N), noon)
	require.NoError(b, err)
	_, err = conn.Exec(b.Context(), "analyze")
	require.NoError(b, err)
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	var most uint64
	v := audit.Verifier{Store: st, Progress: func(string, int64) {
		runtime.ReadMemStats(&now)
		most = max(most, now.HeapInuse)
	}}
	b.ResetTimer()
	start := time.Now()
	r, err := v.Verify(b.Context(), pg.Scope{Tenant: "tnt_1", Environment: "env_1"}, nil)
	require.NoError(b, err)
	require.Empty(b, r.Findings)
	require.EqualValues(b, b.N, r.State.Decisions)
	b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "decisions/s")
	b.ReportMetric(float64(most)/(1<<20), "MB-heap")
}
