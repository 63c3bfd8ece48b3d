package recovery_test

import (
	"context"
	"os"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/authz/backgrounds"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/internal/subject/passkey"
	"github.com/countersign-dev/countersign/internal/subject/recovery"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

type bundle struct {
	store     *pg.Store
	env       models.Environment
	scope     pg.Scope
	clock     *clock.Fake
	service   *recovery.Service
	principal identity.Principal
	subject   models.Subject
}

func setup(t *testing.T, kind models.EnvironmentKind) *bundle {
	t.Helper()
	st, c := storetest.New(t), clock.NewFake(storetest.Epoch)
	env := storetest.Environment(t, st, kind)
	return &bundle{
		store: st, env: env, scope: storetest.Scope(env), clock: c, service: recovery.New(st, c, backgrounds.Counter{}),
		principal: identity.Principal{CredentialID: "crd_1", TenantID: env.TenantID, EnvironmentID: env.ID, Kind: kind, RequestID: "req_1"},
		subject:   storetest.Subject(t, st, env, "user-4711"),
	}
}

func (b *bundle) begin(anchor string) (recovery.View, error) {
	in := recovery.Begin{Anchor: anchor}
	if anchor != recovery.AnchorNone {
		ref := "kyc-case-20931"
		in.EvidenceRef = &ref
	}
	return b.service.Begin(context.Background(), b.principal, b.subject.ExternalID, in)
}

func (b *bundle) advance(t *testing.T, id string) recovery.Progress {
	t.Helper()
	s, err := b.service.Advance(context.Background(), recovery.Step{Environment: b.principal.EnvironmentID, ID: id, At: b.clock.Now(), WorkflowID: "recovery/" + id})
	require.NoError(t, err)
	return s
}

func (b *bundle) status(t *testing.T) models.RecoveryStatus {
	t.Helper()
	v, err := b.service.Get(context.Background(), b.scope, b.subject.ExternalID)
	require.NoError(t, err)
	return v.Status
}

func (b *bundle) complete() error {
	return b.store.Write(context.Background(), func(q *pg.Q) error {
		sub, err := b.stored()
		if err != nil {
			return err
		}
		return recovery.CompleteByEnrollment(context.Background(), q, sub, b.clock.Now())
	})
}

func (b *bundle) enrollable() error {
	sub, err := b.stored()
	if err == nil {
		_, err = recovery.EnsureEnrollable(context.Background(), b.store.Q, sub, b.clock.Now())
	}
	return err
}

func (b *bundle) row(t *testing.T) models.Subject {
	t.Helper()
	s, err := b.stored()
	require.NoError(t, err)
	return s
}

func (b *bundle) stored() (models.Subject, error) {
	return subjectrow.GetByUID(context.Background(), b.store.Q, b.scope, b.subject.UID)
}

func (b *bundle) exec(t *testing.T, query string, args ...any) {
	t.Helper()
	testenv.Exec(t, b.store, query, args...)
}

func (b *bundle) texts(t *testing.T, query string) []string {
	t.Helper()
	rows, err := b.store.Pool().Query(context.Background(), query)
	require.NoError(t, err)
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return out
}

func (b *bundle) events(t *testing.T) []string {
	t.Helper()
	return b.texts(t, "select type from events order by seq")
}

func requireCode(t *testing.T, want problem.Code, err error) {
	t.Helper()
	require.Error(t, err)
	require.NotNil(t, problem.As(err), "%v", err)
	require.Equal(t, want, problem.As(err).Code, "%v", err)
}

// The weaker the anchor, the longer the cool-down.
func TestTermsOfAnchors(t *testing.T) {
	t.Parallel()
	order := []string{
		recovery.AnchorPasskey, recovery.AnchorVerifiedIdentity, recovery.AnchorIDP, recovery.AnchorCustomerSession, recovery.AnchorNone,
	}
	var last time.Duration
	for _, anchor := range order {
		live, sandbox := recovery.TermsOf(models.Live, anchor), recovery.TermsOf(models.Sandbox, anchor)
		require.Greater(t, live.CoolDown, last, anchor)
		last = live.CoolDown
		require.Equal(t, recovery.Life, live.Life)
		require.Less(t, live.CoolDown, live.Life)
		require.Equal(t, anchor == recovery.AnchorNone, live.Cap > 0, anchor)
		require.LessOrEqual(t, sandbox.CoolDown, time.Minute)
		require.Positive(t, sandbox.CoolDown)
		require.Equal(t, anchor == recovery.AnchorNone, sandbox.Cap > 0, anchor)
	}
}

func TestLimitationMatchesTheReasonCode(t *testing.T) {
	t.Parallel()
	require.Equal(t, scoring.ReasonRecoveryCap, recovery.LimitationCap)
}

func TestRecoveryFromBeginToCompletion(t *testing.T) {
	t.Parallel()
	b := setup(t, models.Live)
	v, err := b.begin(recovery.AnchorIDP)
	require.NoError(t, err)
	require.Equal(t, models.RecoveryPending, v.Status)
	require.Equal(t, storetest.Epoch.Add(4*time.Hour), v.ReadyAt)
	require.Equal(t, storetest.Epoch.Add(recovery.Life), v.ExpiresAt)
	require.Empty(t, v.Limitations)

	require.Equal(t, recovery.Progress{Status: models.RecoveryCoolingDown, Next: v.ReadyAt}, b.advance(t, v.ID))
	require.Equal(t, models.RecoveryCoolingDown, b.status(t))
	requireCode(t, problem.RecoveryNotReady, b.enrollable())
	requireCode(t, problem.RecoveryNotReady, b.complete())

	b.clock.Set(v.ReadyAt.Add(-time.Microsecond))
	require.Equal(t, models.RecoveryCoolingDown, b.advance(t, v.ID).Status, "a microsecond early")
	b.clock.Set(v.ReadyAt)
	require.Equal(t, models.RecoveryReady, b.status(t), "on read, before the timer")
	require.NoError(t, b.enrollable())
	require.Equal(t, recovery.Progress{Status: models.RecoveryReady, Next: v.ExpiresAt}, b.advance(t, v.ID))

	require.NoError(t, b.complete())
	require.Equal(t, models.RecoveryCompleted, b.status(t))
	require.Equal(t, recovery.Progress{Status: models.RecoveryCompleted}, b.advance(t, v.ID))
	require.NoError(t, b.complete(), "an enrollment without a recovery completes none")
	require.Nil(t, b.row(t).ClaimCapUntil)
	require.Equal(t, []string{"recovery.started", "recovery.ready", "recovery.completed"}, b.events(t))
	require.Equal(t, []string{"recovery.start", recovery.TopicSettled}, b.texts(t, "select topic from outbox where topic <> 'event' order by id"))
}

// The row may still be cooling_down when an enrollment completes a recovery whose cool-down has passed.
func TestEnrollmentCompletesAReadyRecoveryBeforeTheTimer(t *testing.T) {
	t.Parallel()
	b := setup(t, models.Live)
	v, err := b.begin(recovery.AnchorVerifiedIdentity)
	require.NoError(t, err)
	b.clock.Set(v.ReadyAt)
	require.NoError(t, b.complete())
	require.Equal(t, models.RecoveryCompleted, b.advance(t, v.ID).Status)
}

func TestRecoveryExpires(t *testing.T) {
	t.Parallel()
	b := setup(t, models.Live)
	v, err := b.begin(recovery.AnchorVerifiedIdentity)
	require.NoError(t, err)
	b.clock.Set(v.ExpiresAt)
	require.Equal(t, models.RecoveryExpired, b.status(t), "on read, before the timer")
	require.NoError(t, b.complete())
	require.Equal(t, models.RecoveryExpired, b.status(t), "an enrollment after the end does not complete it")
	require.Equal(t, recovery.Progress{Status: models.RecoveryExpired}, b.advance(t, v.ID))
	require.Equal(t, models.RecoveryExpired, b.advance(t, v.ID).Status)
	require.Equal(t, []string{"recovery.started", "recovery.ready", "recovery.expired"}, b.events(t))
	_, err = b.begin(recovery.AnchorNone)
	require.NoError(t, err, "the next recovery may begin")
}

func TestAnchorNoneCapsClaims(t *testing.T) {
	t.Parallel()
	b := setup(t, models.Live)
	v, err := b.begin(recovery.AnchorNone)
	require.NoError(t, err)
	require.Equal(t, []string{recovery.LimitationCap}, []string(v.Limitations))
	require.Equal(t, v.ReadyAt.Add(7*24*time.Hour), b.row(t).ClaimCapUntil.UTC())
	b.clock.Set(v.ReadyAt.Add(48 * time.Hour))
	require.NoError(t, b.complete())
	require.Equal(t, b.clock.Now().Add(7*24*time.Hour), b.row(t).ClaimCapUntil.UTC(), "the cap runs from the completion")
}

// A recovery that was completed and is put back as it was is over: nothing that it let happen happens again.
func TestAnEarlierCopyOfARecoveryIsOver(t *testing.T) {
	t.Parallel()
	b := setup(t, models.Sandbox)
	v, err := b.begin(recovery.AnchorIDP)
	require.NoError(t, err)
	put := func(query string) {
		_, err := b.store.Pool().Exec(context.Background(), query)
		require.NoError(t, err)
	}
	b.clock.Set(v.ReadyAt)
	put("create table kept as select * from recoveries")
	anchor := func() string {
		var anchor string
		require.NoError(t, b.store.Write(context.Background(), func(q *pg.Q) (err error) {
			anchor, err = recovery.EnsureEnrollable(context.Background(), q, b.row(t), b.clock.Now())
			return err
		}))
		return anchor
	}
	require.Equal(t, recovery.AnchorIDP, anchor())
	require.NoError(t, b.complete())
	require.Equal(t, recovery.AnchorNone, anchor())
	put("delete from recoveries")
	put("insert into recoveries select * from kept")
	require.Equal(t, recovery.AnchorNone, anchor())
}

// An altered recovery expires, and stays invalid: a new one can begin.
func TestAnAlteredRecoveryExpires(t *testing.T) {
	t.Parallel()
	b := setup(t, models.Sandbox)
	v, err := b.begin(recovery.AnchorIDP)
	require.NoError(t, err)
	_, err = b.store.Pool().Exec(context.Background(), "update recoveries set ready_at = created_at")
	require.NoError(t, err)
	var altered *pg.Altered
	require.ErrorAs(t, b.complete(), &altered)
	b.clock.Set(v.ExpiresAt)
	require.Equal(t, models.RecoveryExpired, b.advance(t, v.ID).Status)
	_, err = b.begin(recovery.AnchorIDP)
	require.NoError(t, err)
	testenv.Attest(t, b.store)
}

func TestBeginEndsOpenItemsAndResetsTemplates(t *testing.T) {
	t.Parallel()
	b := setup(t, models.Live)
	at := b.clock.Now()
	b.exec(t, `update subjects set enrollment = 'enrolled', timing_template = '\x04', enrollment_asked_at = $1`, at)
	b.exec(t, `insert into sessions (id, tenant_id, environment_id, subject_uid, device_class, status, started_at, last_activity_at)
		values ('ses_1', $1, $2, $3, 'desktop', 'active', $4, $4)`, b.env.TenantID, b.env.ID, b.subject.UID, at)
	for i, status := range []string{"active", "superseded"} {
		b.exec(t, `insert into templates (id, tenant_id, environment_id, subject_uid, modality, device_class, version, status, model_version, data, created_at, updated_at)
			values ($1, $2, $3, $4, 'keystroke', 'desktop', $5, $6, 'm1', '\x04', $7, $7)`,
			ids.New(ids.Template), b.env.TenantID, b.env.ID, b.subject.UID, i+1, status, at)
	}
	for i, id := range []string{"azn_1", "azn_2"} {
		b.exec(t, `insert into authorizations (id, tenant_id, environment_id, credential_id, action_id, action_key, subject_uid, actor, resource_type,
			resource_digest, context_digest, action_hash, audience, nonce, request_hash, requested_at, decided_at, latency_ms, trace_id, mode, decision,
			reason_codes, policy_version, policy_hash, coverage, insufficient, assurance, explanation, response)
			values ($1, $2, $3, 'crd_1', 'act_1', 'payment.release', $4, '{}', 'payment', '', '', '', 'payments', $1, '', $5, $5, 3, '', 'enforce', $6,
			'{}', 1, '', 'partial', false, '{}', '[]', '{}')`, id, b.env.TenantID, b.env.ID, b.subject.UID, at, []string{"challenge", "allow"}[i])
	}
	b.exec(t, `insert into challenges (id, tenant_id, environment_id, authorization_id, subject_uid, status, methods, display, display_digest, action_hash,
		random, created_at, expires_at) values ('chl_1', $1, $2, 'azn_1', $3, 'open', '{passkey}', '{}', '', '', '', $4, $5)`,
		b.env.TenantID, b.env.ID, b.subject.UID, at, at.Add(5*time.Minute))
	b.exec(t, `insert into proofs (jti, tenant_id, environment_id, authorization_id, subject_uid, kid, audience, status, sealed, issued_at, expires_at)
		values ('prf_1', $1, $2, 'azn_2', $3, 'kid', 'payments', 'active', '\x0c', $4, $5)`, b.env.TenantID, b.env.ID, b.subject.UID, at, at.Add(5*time.Minute))

	_, err := b.begin(recovery.AnchorVerifiedIdentity)
	require.NoError(t, err)
	require.Equal(t, []string{"cancelled"}, b.texts(t, "select status from challenges"))
	require.Equal(t, []string{"revoked"}, b.texts(t, "select status from proofs where revoked_reason = 'recovery'"))
	require.Equal(t, []string{"retired", "retired"}, b.texts(t, "select status from templates"))
	require.Equal(t, models.EnrollmentNone, b.row(t).Enrollment)
	require.ElementsMatch(t, []string{"recovery.started", "proof.revoked", "challenge.cancelled", "session.ended", "template.reset"}, b.events(t))
	require.Equal(t, []string{"ended"}, b.texts(t, "select status from sessions"))
	require.Equal(t, []string{"sub"}, b.texts(t, "select 'sub' from subjects where timing_template is null and enrollment_asked_at is null"))
	require.Equal(t, []string{"challenge.settled", "recovery.start"}, b.texts(t, "select topic from outbox where topic <> 'event' order by id"))
}

func TestBeginIsRejected(t *testing.T) {
	t.Parallel()
	b := setup(t, models.Live)
	ctx := context.Background()
	t.Run("without evidence", func(t *testing.T) {
		for _, anchor := range []string{"customer_session", "idp", "passkey", "verified_identity"} {
			_, err := b.service.Begin(ctx, b.principal, b.subject.ExternalID, recovery.Begin{Anchor: anchor})
			requireCode(t, problem.Unprocessable, err)
			require.Equal(t, []any{"body", "anchor_evidence_ref"}, problem.As(err).Fields[0].Loc)
		}
	})
	t.Run("with a reference that shows badly", func(t *testing.T) {
		_, err := b.service.Begin(ctx, b.principal, b.subject.ExternalID, recovery.Begin{Anchor: recovery.AnchorNone, Reference: "HELP\n4711"})
		requireCode(t, problem.Unprocessable, err)
		require.Equal(t, []any{"body", "reference"}, problem.As(err).Fields[0].Loc)
	})
	t.Run("without the passkey", func(t *testing.T) {
		_, err := b.begin(recovery.AnchorPasskey)
		requireCode(t, problem.AnchorUnavailable, err)
	})
	t.Run("for an unknown subject", func(t *testing.T) {
		_, err := b.service.Begin(ctx, b.principal, "unknown", recovery.Begin{Anchor: recovery.AnchorNone})
		require.Equal(t, problem.NewNotFound(), problem.As(err))
		_, err = b.service.Get(ctx, b.scope, "unknown")
		require.Equal(t, problem.NewNotFound(), problem.As(err))
		_, err = b.service.Get(ctx, b.scope, b.subject.ExternalID)
		require.Equal(t, problem.NewNotFound(), problem.As(err), "a subject without a recovery")
	})
	t.Run("while one is open", func(t *testing.T) {
		_, err := b.begin(recovery.AnchorNone)
		require.NoError(t, err)
		_, err = b.begin(recovery.AnchorNone)
		requireCode(t, problem.RecoveryInProgress, err)
	})
	t.Run("for a revoked subject", func(t *testing.T) {
		require.NoError(t, b.store.Write(ctx, func(q *pg.Q) error {
			_, err := subject.RevokeSubject(ctx, q, b.scope, b.subject.UID, b.clock.Now())
			return err
		}))
		_, err := b.begin(recovery.AnchorNone)
		requireCode(t, problem.SubjectRevoked, err)
	})
}

func TestAnchorPasskeyRequiresAnActivePasskey(t *testing.T) {
	t.Parallel()
	b := setup(t, models.Live)
	keep := func(id string, revoked *time.Time) {
		created, err := passkey.CreatePasskey(context.Background(), b.store.Q, models.Passkey{
			ID: id, TenantID: b.env.TenantID, EnvironmentID: b.env.ID, SubjectUID: b.subject.UID, CredentialID: []byte(id),
			PublicKey: []byte{1}, AttestationType: "none", AAGUID: []byte{}, CreatedAt: b.clock.Now(), RevokedAt: revoked,
		})
		require.NoError(t, err)
		require.True(t, created)
	}
	now := b.clock.Now()
	keep("psk_revoked", &now)
	_, err := b.begin(recovery.AnchorPasskey)
	requireCode(t, problem.AnchorUnavailable, err)
	keep("psk_kept", nil)
	v, err := b.begin(recovery.AnchorPasskey)
	require.NoError(t, err)
	require.Equal(t, 15*time.Minute, v.ReadyAt.Sub(v.CreatedAt))
}

func TestEvidenceReferenceIsStoredAsDigestOnly(t *testing.T) {
	t.Parallel()
	b := setup(t, models.Live)
	_, err := b.begin(recovery.AnchorVerifiedIdentity)
	require.NoError(t, err)
	require.Equal(t, []string{canonical.DigestBytes([]byte("kyc-case-20931"))}, b.texts(t, "select anchor_evidence_digest from recoveries"))
	require.Empty(t, b.texts(t, "select id from events where data::text like '%kyc-case%'"))
}

func TestConcurrentBeginsStartOneRecovery(t *testing.T) {
	t.Parallel()
	setup(t, models.Sandbox).beginAtOnce(t, 8, recovery.AnchorNone)
}

// beginAtOnce begins n recoveries concurrently, beside what else is given, of which one must succeed.
func (b *bundle) beginAtOnce(t *testing.T, n int, anchor string, beside ...func()) {
	t.Helper()
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { _, errs[i] = b.begin(anchor) })
	}
	for _, do := range beside {
		all.Go(do)
	}
	all.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		requireCode(t, problem.RecoveryInProgress, err)
	}
	require.Equal(t, 1, won)
}

// Of a concurrent completion and expiry, exactly one is stored.
func TestConcurrentCompletionAndExpiryAreExclusive(t *testing.T) {
	t.Parallel()
	b := setup(t, models.Sandbox)
	for range 10 {
		v, err := b.begin(recovery.AnchorIDP)
		require.NoError(t, err)
		b.clock.Set(v.ExpiresAt.Add(-time.Microsecond))
		b.advance(t, v.ID)
		var all sync.WaitGroup
		var completion error
		all.Go(func() { completion = b.complete() })
		all.Go(func() {
			_, _ = b.service.Advance(context.Background(), recovery.Step{Environment: b.principal.EnvironmentID, ID: v.ID, At: v.ExpiresAt, WorkflowID: "recovery/" + v.ID})
		})
		all.Wait()
		require.NoError(t, completion)
		r, err := recovery.GetRecovery(context.Background(), b.store.Q, b.scope.Environment, v.ID)
		require.NoError(t, err)
		require.Contains(t, []models.RecoveryStatus{models.RecoveryCompleted, models.RecoveryExpired}, r.Status)
		told := b.texts(t, "select type from events where data->>'recovery' = '"+v.ID+"' and type in ('recovery.completed', 'recovery.expired')")
		require.Equal(t, []string{"recovery." + string(r.Status)}, told)
	}
}

func TestRecoveryOfAnErasedSubjectIsGone(t *testing.T) {
	t.Parallel()
	b := setup(t, models.Sandbox)
	v, err := b.begin(recovery.AnchorNone)
	require.NoError(t, err)
	require.NoError(t, b.store.Write(context.Background(), func(q *pg.Q) error {
		_, err := subject.HideSubject(context.Background(), q, b.scope, b.subject.UID, b.clock.Now())
		return err
	}))
	require.Equal(t, recovery.Progress{Status: recovery.Gone}, b.advance(t, v.ID))
	require.Equal(t, recovery.Progress{Status: recovery.Gone}, b.advance(t, "rcv_unknown"))
	_, waiting, err := b.service.WorkflowInput(context.Background(), b.scope.Environment, "rcv_unknown")
	require.NoError(t, err)
	require.False(t, waiting)
}

// docs/passkeys.md must state the current terms.
func TestTermsMatchTheDocumentation(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../../docs/passkeys.md")
	require.NoError(t, err)
	for _, anchor := range []string{"none", "customer_session", "idp", "verified_identity", "passkey"} {
		live, sandbox := recovery.TermsOf(models.Live, anchor), recovery.TermsOf(models.Sandbox, anchor)
		row := regexp.MustCompile(`(?m)^\| ` + "`" + anchor + "`" + ` \|[^|]*\| (\S+) \| (\S+) \| ?(\S*) \| ?(\S*) ?\|$`).FindStringSubmatch(string(raw))
		require.NotNil(t, row, anchor)
		require.Equal(t, []string{live.CoolDown.String(), sandbox.CoolDown.String(), capOf(live), capOf(sandbox)}, row[1:], anchor)
		require.Contains(t, string(raw), live.Life.String()+" (14 days)")
		require.Contains(t, string(raw), sandbox.Life.String()+" in sandbox")
	}
}

func capOf(t recovery.Terms) string {
	if t.Cap == 0 {
		return ""
	}
	return t.Cap.String()
}
