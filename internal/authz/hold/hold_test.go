package hold_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/reviewnote"
	"github.com/countersign-dev/countersign/internal/authz/settle"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

var now = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

const life = 72 * time.Hour

type bundle struct {
	*fixture.World
	clock    *clock.Fake
	service  *hold.Service
	decision string
	deciding func(ctx context.Context) context.Context // the context of follow-up decisions; nil leaves it
}

func setup(t *testing.T) *bundle {
	t.Helper()
	return setupOn(t, testenv.Store(t))
}

func setupOn(t *testing.T, st *pg.Store) *bundle {
	t.Helper()
	b := &bundle{World: fixture.New(t, st, now), clock: clock.NewFake(now), decision: "allow"}
	b.service = hold.New(hold.Deps{Store: st, Clock: b.clock, Notes: reviewnote.NewVault(testenv.Keys()),
		Decide: func(ctx context.Context, q *pg.Q, a settle.FollowUp) (models.Authorization, error) {
			if b.deciding != nil {
				ctx = b.deciding(ctx)
			}
			return b.FollowUp(ctx, q, a, b.decision)
		}})
	return b
}

// prepare prepares a review and is the move the run would make.
func (b *bundle) prepare(t *testing.T, reviewer, id, resolution string) hold.Move {
	t.Helper()
	note := "called back on the known number"
	p, err := b.service.PrepareReview(t.Context(), b.Principal(reviewer), id, hold.Vote{Resolution: resolution, Note: &note})
	require.NoError(t, err)
	return b.moved(t, p, id)
}

func (b *bundle) moved(t *testing.T, p hold.Prepared, id string) hold.Move {
	t.Helper()
	digest, err := hex.DecodeString(p.Request)
	require.NoError(t, err)
	return hold.Move{ID: id, Environment: p.Workflow.Environment, Request: digest, At: b.clock.Now(), WorkflowID: "hold/" + id}
}

func (b *bundle) refused(t *testing.T, reviewer, id, resolution string, code problem.Code) {
	t.Helper()
	_, err := b.service.PrepareReview(t.Context(), b.Principal(reviewer), id, hold.Vote{Resolution: resolution})
	require.True(t, problem.Is(err, code), "%v", err)
}

func TestApproveMakesFollowUpDecision(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.Hold(life, 1)
	move := b.prepare(t, "crd_ann", h.AuthorizationID, hold.Approve)
	out, err := b.service.Review(t.Context(), move)
	require.NoError(t, err)
	require.Equal(t, models.HoldApproved, out.Status)
	again, err := b.service.Review(t.Context(), move)
	require.NoError(t, err, "an activity that died after its commit finds its own work")
	require.Equal(t, out.Authorization, again.Authorization)

	want := `{"authorization":"` + h.AuthorizationID + `","resolution":"approve","decision":{"id":"` + out.Authorization + `","decision":"allow"}}`
	for _, reviewer := range []string{"crd_ann", "crd_bob"} {
		repeated, err := b.service.PrepareReview(t.Context(), b.Principal(reviewer), h.AuthorizationID, hold.Vote{Resolution: hold.Approve})
		require.NoError(t, err)
		require.JSONEq(t, want, string(repeated.Receipt), "the same resolution gets the stored receipt")
	}
	b.refused(t, "crd_bob", h.AuthorizationID, hold.Reject, problem.ReviewResolved)
	require.Equal(t, 1, b.Events("hold.approved"))
	require.Equal(t, 1, b.Count("select count(*) from holds where resolved_by = 'credential:crd_ann' and child_authorization_id = $1", out.Authorization))
	require.Equal(t, 0, b.Count("select count(*) from reviews where note_digest like '%called%'"), "a note is kept as a digest")
	require.Equal(t, 1, b.Count("select count(*) from reviews where note_digest like 'sha256:%'"))
}

// The subject is assessed again; the follow-up decision can be a denial despite the approval.
func TestApproveMayEndInDenial(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.decision = "deny"
	h := b.Hold(life, 1)
	out, err := b.service.Review(t.Context(), b.prepare(t, "crd_ann", h.AuthorizationID, hold.Approve))
	require.NoError(t, err)
	require.Equal(t, policy.Deny, out.Decision)
}

func TestRejectRecordsTheOutcome(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.Hold(life, 2)
	out, err := b.service.Review(t.Context(), b.prepare(t, "crd_ann", h.AuthorizationID, hold.Reject))
	require.NoError(t, err)
	require.Equal(t, models.HoldRejected, out.Status)
	receipt, err := b.service.Receipt(t.Context(), b.Scope, h.AuthorizationID, hold.Prepared{Resolution: hold.Reject})
	require.NoError(t, err)
	require.JSONEq(t, `{"authorization":"`+h.AuthorizationID+`","resolution":"reject","outcome":{"authorization":"`+h.AuthorizationID+
		`","outcome":"manually_rejected","reported_at":"2026-03-01T09:00:00.000Z"}}`, string(receipt))
	require.Equal(t, 1, b.Count("select count(*) from authorizations where outcome = 'manually_rejected' and outcome_reported_at = $1", now))
	b.refused(t, "crd_ann", h.AuthorizationID, hold.Approve, problem.ReviewResolved)
	require.Equal(t, 0, b.Count("select count(*) from authorizations where parent_id is not null"))
}

// What the relying party has reported while the hold waited is not replaced, unless it was unknown.
func TestRejectKeepsAReportedOutcome(t *testing.T) {
	t.Parallel()
	b := setup(t)
	reported := now.Add(-time.Minute)
	for _, c := range []struct {
		before, after string
		at            time.Time
	}{
		{"confirmed_attack", "confirmed_attack", reported},
		{"manually_rejected", "manually_rejected", reported},
		{"unknown", "manually_rejected", now},
	} {
		h := b.Hold(life, 1)
		moved, err := authorization.ReportOutcome(t.Context(), b.Store.Q, b.Scope, h.AuthorizationID, c.before, nil, reported)
		require.NoError(t, err)
		require.True(t, moved)
		_, err = b.service.Review(t.Context(), b.prepare(t, "crd_ann", h.AuthorizationID, hold.Reject))
		require.NoError(t, err)
		receipt, err := b.service.Receipt(t.Context(), b.Scope, h.AuthorizationID, hold.Prepared{Resolution: hold.Reject})
		require.NoError(t, err)
		require.JSONEq(t, `{"authorization":"`+h.AuthorizationID+`","resolution":"reject","outcome":{"authorization":"`+h.AuthorizationID+
			`","outcome":"`+c.after+`","reported_at":"`+apitime.Time(c.at)+`"}}`, string(receipt), c.before)
		require.Equal(t, 1, b.Count("select count(*) from authorizations where id = $1 and outcome = $2 and outcome_reported_at = $3",
			h.AuthorizationID, c.after, c.at), c.before)
		require.Equal(t, 1, b.Count("select count(*) from events where type = 'hold.rejected' and authorization_id = $1 and data->>'outcome' = $2",
			h.AuthorizationID, c.after), c.before)
	}
}

func TestSeveralApprovals(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.Hold(life, 2)
	ann := b.prepare(t, "crd_ann", h.AuthorizationID, hold.Approve)
	for range 2 {
		out, err := b.service.Review(t.Context(), ann)
		require.NoError(t, err)
		require.Equal(t, models.HoldPending, out.Status)
		require.Equal(t, 1, out.Approvals, "one reviewer is one approval")
	}
	require.Equal(t, 1, b.Events("hold.reviewed"), "a worker that lost the result repeats the review")
	p, err := b.service.PrepareReview(t.Context(), b.Principal("crd_ann"), h.AuthorizationID, hold.Vote{Resolution: hold.Approve})
	require.NoError(t, err)
	require.Equal(t, hold.PendingAt(h.AuthorizationID, hold.Approve, 1, 2), p.Pending)
	out, err := b.service.Review(t.Context(), b.prepare(t, "crd_bob", h.AuthorizationID, hold.Approve))
	require.NoError(t, err)
	require.Equal(t, models.HoldApproved, out.Status)
	require.Equal(t, 2, out.Approvals)
}

func TestReviewerCanRejectAfterApproving(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.Hold(life, 2)
	_, err := b.service.Review(t.Context(), b.prepare(t, "crd_ann", h.AuthorizationID, hold.Approve))
	require.NoError(t, err)
	out, err := b.service.Review(t.Context(), b.prepare(t, "crd_ann", h.AuthorizationID, hold.Reject))
	require.NoError(t, err)
	require.Equal(t, models.HoldRejected, out.Status)
}

func TestSelfReview(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.Hold(life, 1)
	b.Exec("update holds set self_review_barred = true")
	b.refused(t, fixture.Asker, h.AuthorizationID, hold.Approve, problem.SelfReview)
	_ = b.prepare(t, "crd_ann", h.AuthorizationID, hold.Approve)
}

func TestReviewRefusesAuthorizationsNotHeld(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.Authorization("allow")
	b.Write(authorization.Decision{Authorization: a})
	b.refused(t, "crd_ann", a.ID, hold.Approve, problem.NotHeld)
	_, err := b.service.PrepareReview(t.Context(), b.Principal("crd_ann"), "azn_unknown", hold.Vote{Resolution: hold.Approve})
	require.ErrorIs(t, err, pg.ErrNotFound)
	h := b.Hold(life, 1)
	foreign := b.Principal("crd_ann")
	foreign.EnvironmentID = "env_other"
	_, err = b.service.PrepareReview(t.Context(), foreign, h.AuthorizationID, hold.Vote{Resolution: hold.Approve})
	require.ErrorIs(t, err, pg.ErrNotFound)
}

func TestRemindOnceAndExpire(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.Hold(life, 1)
	at := func(d time.Duration) hold.Move {
		return hold.Move{Environment: h.EnvironmentID, ID: h.AuthorizationID, At: now.Add(d), WorkflowID: "hold/x"}
	}
	for range 2 {
		out, err := b.service.Remind(t.Context(), at(life/2))
		require.NoError(t, err)
		require.True(t, out.RemindAt.IsZero())
	}
	require.Equal(t, 1, b.Events("hold.reminder"))
	out, err := b.service.Expire(t.Context(), at(life-time.Microsecond))
	require.NoError(t, err)
	require.Equal(t, models.HoldPending, out.Status)

	b.clock.Advance(life)
	b.refused(t, "crd_ann", h.AuthorizationID, hold.Approve, problem.ReviewExpired)
	for range 2 {
		out, err = b.service.Expire(t.Context(), at(life))
		require.NoError(t, err)
		require.Equal(t, models.HoldExpired, out.Status)
	}
	require.Equal(t, 1, b.Events("hold.expired"))
	require.Equal(t, 0, b.Count("select count(*) from authorizations where parent_id is not null"), "time never approves")
}

// However many moves are made at once, without any run to put them in order: one wins.
func TestConcurrentMovesHaveOneOutcome(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.Hold(life, 1)
	approve, reject := b.prepare(t, "crd_ann", h.AuthorizationID, hold.Approve), b.prepare(t, "crd_bob", h.AuthorizationID, hold.Reject)
	late := hold.Move{Environment: h.EnvironmentID, ID: h.AuthorizationID, At: now.Add(life), WorkflowID: "hold/x"}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { _, _ = b.service.Review(t.Context(), approve) })
		all.Go(func() { _, _ = b.service.Review(t.Context(), reject) })
		all.Go(func() { _, _ = b.service.Expire(t.Context(), late) })
	}
	all.Wait()
	require.Equal(t, 1, b.Events("hold.approved")+b.Events("hold.rejected")+b.Events("hold.expired"))
	require.Equal(t, b.Events("hold.approved"), b.Count("select count(*) from authorizations where parent_id is not null"))
	require.Equal(t, b.Events("hold.rejected"), b.Count("select count(*) from authorizations where outcome is not null"))
}

// Approvals that are made at once are counted one after the other: none is lost, and one of them is the last.
func TestConcurrentApprovalsAreAllCounted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.Hold(life, 3)
	var all sync.WaitGroup
	results := make(chan error, 4)
	var moves []hold.Move // all before the first: a settled hold takes no further request
	for _, reviewer := range []string{"crd_ann", "crd_bob", "crd_cyd", "crd_dan"} {
		moves = append(moves, b.prepare(t, reviewer, h.AuthorizationID, hold.Approve))
	}
	for _, move := range moves {
		all.Go(func() {
			_, err := b.service.Review(t.Context(), move)
			results <- err
		})
	}
	all.Wait()
	close(results)
	for err := range results {
		require.NoError(t, err)
	}
	require.Equal(t, 1, b.Events("hold.approved"))
	require.Equal(t, 2, b.Events("hold.reviewed"))
	require.Equal(t, 3, b.Count("select count(*) from reviews where authorization_id = $1", h.AuthorizationID))
	require.Equal(t, 1, b.Count("select count(*) from authorizations where parent_id is not null"))
}

func TestReceiptOfAnUnresolvedHold(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.Hold(life, 1)
	receipt, err := b.service.Receipt(t.Context(), b.Scope, h.AuthorizationID, hold.Prepared{Resolution: hold.Approve})
	require.True(t, problem.Is(err, problem.Unavailable), "%v", err)
	require.Equal(t, json.RawMessage(nil), receipt)
}
