package hold_test

import (
	"context"
	"encoding/hex"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/models"
)

// atOnce is the workflow of the holds of a test; failing makes it unavailable.
type atOnce struct {
	*bundle
	failing bool
	last    hold.Move // that was asked for
}

func (w *atOnce) ReviewHold(ctx context.Context, in hold.WorkflowInput, _, request string) (hold.Outcome, error) {
	digest, err := hex.DecodeString(request)
	if err != nil {
		return hold.Outcome{}, err
	}
	w.last = hold.Move{ID: in.Authorization, Environment: in.Environment, Request: digest, At: w.clock.Now(), WorkflowID: "hold/" + in.Authorization}
	if w.failing {
		return hold.Outcome{}, problem.NewUnavailable("down", nil)
	}
	return w.service.Review(ctx, w.last)
}

func (w *atOnce) RestartHold(context.Context, hold.WorkflowInput) error {
	return errors.New("not started again")
}

// desk is a desk with a reviewer and the worker that makes what they give.
type desk struct {
	*bundle
	workflow *atOnce
	reviewer *hold.Reviewer
	ann      identity.Principal
}

func newDesk(t *testing.T) desk {
	b := setup(t)
	d := desk{bundle: b, workflow: &atOnce{bundle: b}, ann: b.person("prs_ann")}
	d.reviewer = hold.NewReviewer(b.service, d.workflow)
	return d
}

// give has Ann give a review.
func (d desk) give(t *testing.T, resolution string, holds ...models.Hold) []hold.Given {
	t.Helper()
	note := "Called back."
	chosen := make([]string, len(holds))
	for i, h := range holds {
		chosen[i] = h.AuthorizationID
	}
	d.ann.RequestID = ids.New(ids.Request)
	out, err := d.service.Give(t.Context(), d.ann, hold.Vote{Resolution: resolution, Note: &note}, chosen...)
	require.NoError(t, err)
	return out
}

// work does what a relay does with the rows that are due, and returns how many there were.
func (d desk) work(t *testing.T) int {
	t.Helper()
	rows, err := outbox.Claim(t.Context(), d.Store.Q, []string{outbox.TopicReview}, 100, time.Time{}, d.clock.Now(), time.Minute)
	require.NoError(t, err)
	for _, row := range rows {
		if d.reviewer.Make(t.Context(), row) == nil {
			require.NoError(t, outbox.DeleteEntries(t.Context(), d.Store.Q, []int64{row.ID}))
		}
	}
	return len(rows)
}

// late does the same once the time to undo has passed.
func (d desk) late(t *testing.T) {
	t.Helper()
	d.clock.Advance(hold.UndoTime)
	d.work(t)
}

func (d desk) status(t *testing.T, h models.Hold) models.HoldStatus {
	t.Helper()
	row, err := hold.GetHold(t.Context(), d.Store.Q, d.Scope, h.AuthorizationID)
	require.NoError(t, err)
	return row.Status
}

// remarks returns what Ann has to read, and nil for each review that waits.
func (d desk) remarks(t *testing.T) (out []*string) {
	t.Helper()
	rows, err := d.service.Given(t.Context(), d.ann)
	require.NoError(t, err)
	for _, r := range rows {
		out = append(out, r.Remark)
	}
	return out
}

func (d desk) undo(t *testing.T, holds ...models.Hold) []hold.Undone {
	t.Helper()
	chosen := make([]string, len(holds))
	for i, h := range holds {
		chosen[i] = h.AuthorizationID
	}
	undone, err := d.service.Undo(t.Context(), d.ann, chosen...)
	require.NoError(t, err)
	return undone
}

// A review that was given is made when the time to undo it has passed, with its note, although the page that gave it is closed and however late a
// worker comes to it.
func TestGivenReviewIsMade(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		resolution string
		want       models.HoldStatus
		wait       time.Duration
	}{
		"approved":                     {hold.Approve, models.HoldApproved, hold.UndoTime},
		"rejected":                     {hold.Reject, models.HoldRejected, hold.UndoTime},
		"by a worker that starts late": {hold.Approve, models.HoldApproved, 50 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			h := d.Hold(life, 1)
			require.NoError(t, d.give(t, c.resolution, h)[0].Err)
			require.Zero(t, d.work(t), "not due")
			require.Equal(t, models.HoldPending, d.status(t, h))
			d.clock.Advance(c.wait)
			require.Equal(t, 1, d.work(t))
			require.Equal(t, c.want, d.status(t, h))
			require.Equal(t, 1, d.Count("select count(*) from reviews where reviewer = 'person:prs_ann' and note_digest is not null"))
			require.Empty(t, d.remarks(t))
			require.Zero(t, d.Count("select count(*) from outbox where topic = 'hold.review'"))
			require.Empty(t, d.undo(t, h), "too late")
		})
	}
}

// A review is undone until a worker takes it, by its reviewer only, and gives its note back.
func TestGivenReviewCanBeUndone(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	h, other := d.Hold(life, 1), d.Hold(life, 1)
	d.give(t, hold.Approve, h, other)
	bob, err := d.service.Undo(t.Context(), d.person("prs_bob"), h.AuthorizationID)
	require.NoError(t, err)
	require.Empty(t, bob)
	undone := d.undo(t, h)
	require.Len(t, undone, 1)
	require.Equal(t, "Called back.", undone[0].Text)
	d.late(t)
	require.Equal(t, models.HoldPending, d.status(t, h))
	require.Equal(t, models.HoldApproved, d.status(t, other), "given with it and not undone")

	d.workflow.failing = true
	d.give(t, hold.Approve, h)
	d.late(t)
	require.Empty(t, d.undo(t, h), "a worker has taken it and tries again")
	d.workflow.failing = false
	d.clock.Advance(2 * time.Minute)
	require.Equal(t, 1, d.work(t))
	require.Equal(t, models.HoldApproved, d.status(t, h))
}

// A rejection within the time in which a colleague can undo their approval stops it, in both orders, and both see what waits.
func TestRejectionStopsAnApprovalThatWaits(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	bob := d.person("prs_bob")
	h, other := d.Hold(life, 1), d.Hold(life, 1)
	reject := func(h models.Hold) {
		out, err := d.service.Give(t.Context(), bob, hold.Vote{Resolution: hold.Reject}, h.AuthorizationID)
		require.NoError(t, err)
		require.NoError(t, out[0].Err)
	}
	d.give(t, hold.Approve, h)
	seen, err := d.service.GivenByOthers(t.Context(), bob, h.AuthorizationID)
	require.NoError(t, err)
	require.Len(t, seen, 1)
	require.Equal(t, d.ann.Actor(), seen[0].Reviewer)
	d.clock.Advance(time.Second)
	reject(h)
	require.NotNil(t, d.remarks(t)[0], "Ann sees that hers was stopped")
	d.late(t)
	require.Equal(t, models.HoldRejected, d.status(t, h))

	reject(other)
	seen, err = d.service.GivenByOthers(t.Context(), d.ann, other.AuthorizationID)
	require.NoError(t, err)
	require.Len(t, seen, 1, "Ann sees the rejection that waits")
	d.clock.Advance(time.Second)
	d.give(t, hold.Approve, other)
	require.NotNil(t, d.remarks(t)[0], "the approval does not wait beside it")
	d.late(t)
	require.Equal(t, models.HoldRejected, d.status(t, other))
}

// Two reviews that are given at the same moment do not see each other. The rejection wins although a worker comes to the approval first.
func TestRejectionStopsAnApprovalOfTheSameMoment(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	h := d.Hold(life, 1)
	d.give(t, hold.Approve, h)
	_, err := d.service.Give(t.Context(), d.person("prs_bob"), hold.Vote{Resolution: hold.Reject}, h.AuthorizationID)
	require.NoError(t, err)
	_, err = d.Store.Pool().Exec(t.Context(), "update given_reviews set remark = null where resolution = $1", hold.Approve)
	require.NoError(t, err)
	require.Nil(t, d.remarks(t)[0])
	d.late(t)
	require.Equal(t, models.HoldRejected, d.status(t, h))
	require.NotNil(t, d.remarks(t)[0])
}

// A review that no worker could make is withdrawn, also if an attempt reaches the workflow afterwards: nothing is approved, and the same review can
// be given again.
func TestLateReviewIsWithdrawn(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	h := d.Hold(life, 1)
	d.workflow.failing = true
	d.give(t, hold.Approve, h)
	d.late(t)
	require.Equal(t, 1, d.Count("select count(*) from move_requests where move = 'approve'"))
	lost := d.workflow.last
	d.clock.Advance(hold.LateAfter)
	require.Empty(t, d.undo(t, h), "it may still be made")
	d.clock.Advance(time.Second)
	undone := d.undo(t, h)
	require.Len(t, undone, 1)
	require.Equal(t, "Called back.", undone[0].Text)

	d.workflow.failing = false
	_, err := d.service.Review(t.Context(), lost)
	require.True(t, problem.Is(err, problem.Conflict), "%v", err)
	d.clock.Advance(2 * time.Minute)
	d.work(t)
	require.Equal(t, models.HoldPending, d.status(t, h))
	require.Empty(t, d.remarks(t))

	d.give(t, hold.Approve, h)
	d.late(t)
	require.Equal(t, models.HoldApproved, d.status(t, h))
	require.NotEqual(t, lost.Request, d.workflow.last.Request, "the workflow would return the result of the first")
}

// Giving a review twice makes it once, and a later one replaces one that waits and begins the time anew.
func TestLaterGivenReviewReplacesTheFirst(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	h := d.Hold(life, 1)
	d.give(t, hold.Approve, h)
	d.give(t, hold.Approve, h)
	d.clock.Advance(4 * time.Second)
	d.give(t, hold.Reject, h)
	d.clock.Advance(4 * time.Second)
	d.work(t)
	require.Equal(t, models.HoldPending, d.status(t, h))
	d.late(t)
	require.Equal(t, models.HoldRejected, d.status(t, h))
	require.Equal(t, 1, d.Count("select count(*) from reviews"))
}

// What ends meanwhile is checked again when the review is made, and the reviewer reads why it was not made, or what it led to, until they have
// removed the remark.
func TestGivenReviewIsCheckedAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meanwhile func(t *testing.T, d desk, h models.Hold)
		want      string
	}{
		"the role is withdrawn": {func(_ *testing.T, d desk, _ models.Hold) {
			d.Exec("delete from person_roles where person_id = 'prs_ann'")
		}, "no longer a reviewer"},
		"the person is removed": {func(_ *testing.T, d desk, _ models.Hold) {
			d.Exec("update people set revoked_at = $1 where id = 'prs_ann'", now)
		}, "no longer a reviewer"},
		"another rejected it": {func(t *testing.T, d desk, h models.Hold) { d.review(t, "crd_bob", h, hold.Reject) }, "The hold is rejected."},
		"the hold expired": {func(_ *testing.T, d desk, h models.Hold) {
			d.Exec("update holds set due_at = $1", now.Add(time.Second))
		}, "The hold has expired."},
		"self-review was barred": {func(_ *testing.T, d desk, _ models.Hold) {
			d.AddCredential(fixture.Asker, "person:prs_ann")
			d.Exec("update holds set self_review_barred = true")
		}, "a reviewer other than the requester"},
		"no worker came for so long": {func(_ *testing.T, d desk, _ models.Hold) { d.clock.Advance(2 * time.Hour) }, "within an hour"},
		"the decision is deny":       {func(_ *testing.T, d desk, _ models.Hold) { d.decision = "deny" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			h := d.Hold(life, 1)
			require.NoError(t, d.give(t, hold.Approve, h)[0].Err)
			c.meanwhile(t, d, h)
			d.late(t)
			got := d.remarks(t)
			require.Len(t, got, 1)
			require.NotNil(t, got[0])
			require.Contains(t, *got[0], c.want)
			require.Zero(t, d.Count("select count(*) from given_reviews where note is not null"), "the note is removed")
			require.Len(t, d.undo(t, h), 1)
			require.Empty(t, d.remarks(t), "read")
		})
	}
}

// review has another reviewer make a review at once.
func (b *bundle) review(t *testing.T, reviewer string, h models.Hold, resolution string) {
	t.Helper()
	_, err := b.service.Review(t.Context(), b.prepare(t, reviewer, h.AuthorizationID, resolution))
	require.NoError(t, err)
}

// What a review would refuse is refused when it is given, and nothing of it is stored. The others of the group are.
func TestGivingRefusesAtOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	settled, h := d.Hold(life, 1), d.Hold(life, 1)
	d.review(t, "crd_bob", settled, hold.Reject)
	out := d.give(t, hold.Approve, settled, h)
	require.True(t, problem.Is(out[0].Err, problem.ReviewResolved))
	require.NoError(t, out[1].Err)
	require.Equal(t, 1, d.Count("select count(*) from given_reviews"))
	out = d.give(t, hold.Reject, settled)
	require.NoError(t, out[0].Err)
	require.NotNil(t, out[0].Done.Receipt, "rejected already")
}

// A hold for which the reviewer has given a review does not need them.
func TestGivenHoldNeedsTheReviewerNoMore(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	h, other := d.Hold(life, 1), d.Hold(life, 1)
	needed := func() (out []string) {
		need, err := d.service.Need(t.Context(), d.ann)
		require.NoError(t, err)
		rows, _, err := d.service.Queue(t.Context(), d.ann, hold.Filter{Need: need}, pg.Page{Limit: 10})
		require.NoError(t, err)
		for _, r := range rows {
			out = append(out, r.AuthorizationID)
		}
		return out
	}
	require.True(t, slices.Contains(needed(), h.AuthorizationID))
	d.give(t, hold.Approve, h)
	require.Equal(t, []string{other.AuthorizationID}, needed())
	d.undo(t, h)
	require.True(t, slices.Contains(needed(), h.AuthorizationID))
}

// Who can write to the database cannot approve by a review that waits.
func TestAlteredGivenReviewApprovesNothing(t *testing.T) {
	t.Parallel()
	for name, alter := range map[string]string{
		"resolution": "update given_reviews set resolution = 'approve'",
		"hold":       "update given_reviews set authorization_id = @other",
		"reviewer":   "update given_reviews set reviewer = 'person:prs_bob'",
		"time":       "update given_reviews set due_at = due_at - interval '1 second'",
		"inserted": `insert into given_reviews (authorization_id, reviewer, environment_id, tenant_id, resolution, request_id, given_at, due_at, row_mac)
			select @other, reviewer, environment_id, tenant_id, 'approve', request_id, given_at, due_at, row_mac from given_reviews`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.person("prs_bob")
			h, other := d.Hold(life, 1), d.Hold(life, 1)
			d.give(t, hold.Reject, h)
			d.tamper(t, alter, h, other)
			d.clock.Advance(hold.UndoTime)
			for _, target := range []models.Hold{h, other} {
				for _, by := range []string{"person:prs_ann", "person:prs_bob"} {
					_ = d.reviewer.Make(t.Context(), models.Outbox{EnvironmentID: h.EnvironmentID, Ref: target.AuthorizationID, Payload: models.JSON(`{"reviewer":"` + by + `"}`)})
				}
				require.NotEqual(t, models.HoldApproved, d.status(t, target))
			}
		})
	}
}
