package subject_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/authz/aggregate"
	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/subject"
)

const canary = "canary-person-7f3a"

// traces searches every column of every table, including bytea, for the text.
func (b *bundle) traces(t *testing.T, text string) []string {
	t.Helper()
	var found []string
	tables := b.texts(t, "select relname::text from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition")
	require.Greater(t, len(tables), 20)
	for _, table := range tables {
		n := b.texts(t, "select count(*)::text from "+table+" x where x::text like '%' || $1 || '%' or x::text like '%' || $2 || '%'",
			text, hex.EncodeToString([]byte(text)))
		if n[0] != "0" {
			found = append(found, table+": "+n[0])
		}
	}
	return found
}

// erase runs an erasure to its end, like the workflow.
func (b *bundle) erase(t *testing.T, erasure string) {
	t.Helper()
	ctx := context.Background()
	for more := true; more; {
		var err error
		more, err = b.service.Sweep(ctx, subject.Run{Environment: b.env.ID, Erasure: erasure})
		require.NoError(t, err)
	}
	b.finish(t, erasure)
}

func (b *bundle) finish(t *testing.T, erasure string) {
	t.Helper()
	ctx := context.Background()
	for more := true; more; {
		var err error
		more, err = b.service.Finish(ctx, subject.Run{Erasure: erasure, Environment: b.env.ID}, "erasure/"+erasure, b.clock.Now())
		require.NoError(t, err)
	}
}

func TestEraseHidesTheSubjectAtOnceAndFreesItsID(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := context.Background()
	v := b.create(t, canary)
	s := b.seed(t, v.Subject)
	r, err := b.service.Erase(ctx, b.principal, canary)
	require.NoError(t, err)
	require.Equal(t, subject.Receipt{Subject: canary, Erasure: r.Erasure, Status: subject.Erasing, RequestedAt: b.clock.Now()}, r)

	_, err = b.service.Get(ctx, b.scope, canary)
	require.Equal(t, problem.NewNotFound(), problem.As(err))
	_, err = b.service.Erase(ctx, b.principal, canary)
	require.Equal(t, problem.NewNotFound(), problem.As(err))
	views, _, err := b.service.List(ctx, b.scope, subject.Filter{}, pg.Page{Limit: 10})
	require.NoError(t, err)
	require.Empty(t, views)
	_, err = subjectrow.GetByUID(ctx, b.store.Q, b.scope, v.UID)
	require.ErrorIs(t, err, pg.ErrNotFound)

	again := b.create(t, canary)
	require.NotEqual(t, v.UID, again.UID)
	require.Empty(t, again.Passkeys)

	require.Equal(t, []string{"revoked"}, b.texts(t, "select status from proofs where jti = $1", s.proof))
	require.Equal(t, []string{"cancelled"}, b.texts(t, "select status from challenges where id = $1", s.challenge))
	require.ElementsMatch(t, []string{"challenge.settled", "hold.settled", "erasure.start"}, b.texts(t, "select topic from outbox where topic <> 'event' order by id"))
	run, waiting, err := b.service.WorkflowInput(ctx, b.env.ID, r.Erasure)
	require.NoError(t, err)
	require.True(t, waiting)
	require.Equal(t, subject.WorkflowInput{Erasure: r.Erasure, Environment: b.env.ID}, run)
}

// paidToAccount is the sum that rules compute for the resource to which every subject of seed pays.
func (b *bundle) paidToAccount(t *testing.T) string {
	t.Helper()
	var sum *string
	batch := &pgx.Batch{}
	aggregate.QueueRead(batch, aggregate.Of{Scope: b.scope, Resource: []string{"sha256:1"}}, aggregate.Read{
		Resource: true, Field: "amount", Kind: aggregate.Sum, Action: "payment.release", Decision: "challenge", Currency: "EUR", Since: b.clock.Now().Add(-time.Hour),
	}, func(n *string) { sum = n })
	require.NoError(t, b.store.Batch(t.Context(), batch))
	return *sum
}

func TestErasureRemovesEveryTraceAndKeepsTheAuditChain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := context.Background()
	v := b.create(t, canary)
	b.seed(t, v.Subject)
	neighbour := b.create(t, "neighbour")
	b.seed(t, neighbour.Subject)
	seal := audit.Sealer{Store: b.store, Clock: b.clock}
	before := b.texts(t, "select count(*)::text from events")

	require.Equal(t, "500.00", b.paidToAccount(t))
	r, err := b.service.Erase(ctx, b.principal, canary)
	require.NoError(t, err)
	require.NotEmpty(t, b.traces(t, canary), "the search must find the text before the erasure")
	b.erase(t, r.Erasure)

	require.Equal(t, "250.00", b.paidToAccount(t), "what others paid to the same resource stays")
	require.Empty(t, b.traces(t, canary))
	require.Empty(t, b.traces(t, v.UID))
	require.Equal(t, []string{"3"}, b.texts(t, "select count(*)::text from idempotency_keys"), "stored responses of other subjects stay")
	for _, table := range tablesOfSubjects {
		require.NotEqual(t, "0", b.texts(t, "select count(*)::text from "+table+" where subject_uid = $1", neighbour.UID)[0], table)
	}
	require.Len(t, b.texts(t, "select id from research_vectors"), 1)

	e, err := subject.GetErasure(ctx, b.store.Q, b.env.ID, r.Erasure)
	require.NoError(t, err)
	require.Equal(t, subject.Completed, e.Status)
	require.Nil(t, e.SubjectUID)
	require.Nil(t, e.Subject)
	require.Equal(t, b.principal.Actor(), e.RequestedBy)
	var removed map[string]int
	require.NoError(t, json.Unmarshal(e.Removed, &removed))
	require.Equal(t, map[string]int{
		"frames": 1, "background_shares": 1, "templates": 1, "enrollments": 1, "sessions": 1, "client_tokens": 1, "registration_grants": 1, "passkeys": 1,
		"frame_digests": 1, "typed_passages": 1, "recoveries": 1, "research_consents": 1, "proofs": 1, "challenges": 1, "review_notes": 1, "holds": 1, "shown_details": 1, "kept_values": 1,
		"aggregate_values": 1, "aggregate_locks": 1, "list_entries": 1, "signals": 1, "standing_approvals": 1,
		"authorizations": 2, "research_vectors": 1,
		"answers": 1, "events": 7,
	}, removed)

	require.NotEqual(t, before, b.texts(t, "select count(*)::text from events"), "events stay")
	_, err = seal.SealNow(ctx, b.env.ID)
	require.NoError(t, err)
	require.Equal(t, b.texts(t, "select count(*)::text from events"), b.texts(t, "select count(*)::text from audit_chain"))
	result, err := audit.Verify(ctx, b.store, b.scope, nil)
	require.NoError(t, err)
	for _, f := range result.Findings {
		// The rows that this test writes of the other subject have no events; only the erasure's own remain to be sealed.
		require.Contains(t, []audit.Kind{audit.Unsupported, audit.Contradicted}, f.Kind, "%+v", f)
		require.NotEmpty(t, f.Target, "%+v", f)
		require.NotEqual(t, e.ID, f.Target, "%+v", f)
	}
}

var tablesOfSubjects = []string{"frames", "templates", "enrollments", "sessions", "client_tokens", "registration_grants", "passkeys",
	"recoveries", "research_consents", "proofs", "challenges", "holds", "authorizations"}

// Each step can be repeated, like an activity whose result was lost.
func TestErasureStepsAreIdempotent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := context.Background()
	v := b.create(t, canary)
	b.seed(t, v.Subject)
	r, err := b.service.Erase(ctx, b.principal, canary)
	require.NoError(t, err)
	b.erase(t, r.Erasure)
	b.erase(t, r.Erasure)
	runs, err := b.service.Workflows(ctx, subject.Run{Environment: b.env.ID, Erasure: r.Erasure}, subject.WorkflowRef{})
	require.NoError(t, err)
	require.Empty(t, runs)
	_, waiting, err := b.service.WorkflowInput(ctx, b.env.ID, r.Erasure)
	require.NoError(t, err)
	require.False(t, waiting)
	require.Len(t, b.texts(t, "select id from events where type = 'subject.erased'"), 1)
	_, err = b.service.Sweep(ctx, subject.Run{Environment: b.env.ID, Erasure: "ers_unknown"})
	require.NoError(t, err)
}

// A request that was in progress when the subject was hidden adds rows after the sweep; Finish deletes them.
func TestErasureRemovesRowsAddedDuringErasure(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := context.Background()
	v := b.create(t, canary)
	r, err := b.service.Erase(ctx, b.principal, canary)
	require.NoError(t, err)
	_, err = b.service.Sweep(ctx, subject.Run{Environment: b.env.ID, Erasure: r.Erasure})
	require.NoError(t, err)
	v.ExternalID = canary
	b.seedCredential(t, v.Subject, b.clock.Now())
	b.seedDecisions(t, v.Subject, seeded{authorization: "azn_late", held: "azn_late_2", challenge: "chl_late", proof: "prf_late"}, b.clock.Now())
	b.finish(t, r.Erasure)
	require.Empty(t, b.traces(t, v.UID))
	// What staff did about a hold stays, and names no one but staff.
	require.ElementsMatch(t, []string{"after_reviews: 1", "after_verdicts: 1"}, b.traces(t, "azn_late"))
}

func TestErasureWorkflowsArePaged(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := context.Background()
	v := b.create(t, canary)
	s := b.seed(t, v.Subject)
	r, err := b.service.Erase(ctx, b.principal, canary)
	require.NoError(t, err)
	runs, err := b.service.Workflows(ctx, subject.Run{Environment: b.env.ID, Erasure: r.Erasure}, subject.WorkflowRef{})
	require.NoError(t, err)
	want := []subject.WorkflowRef{{Kind: "challenge", ID: s.challenge}, {Kind: "enrollment", ID: s.enrollment}, {Kind: "hold", ID: s.held}, {Kind: "recovery", ID: s.recovery}}
	require.Equal(t, want, runs)
	runs, err = b.service.Workflows(ctx, subject.Run{Environment: b.env.ID, Erasure: r.Erasure}, want[1])
	require.NoError(t, err)
	require.Equal(t, want[2:], runs)
}
