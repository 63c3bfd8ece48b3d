package hold_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/models"
)

func TestQueue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.Hold(life, 2)
	b.Exec("update holds set opened_at = opened_at - interval '1 minute', risk_class = 'low'")
	second := b.Hold(life, 1)
	_, err := b.service.Review(t.Context(), b.prepare(t, "crd_ann", first.AuthorizationID, hold.Approve))
	require.NoError(t, err)

	list := func(f hold.Filter, p pg.Page) ([]string, string) {
		if p.Limit == 0 {
			p.Limit = 50
		}
		rows, next, err := b.service.Queue(t.Context(), b.Principal("crd_ann"), f, p)
		require.NoError(t, err)
		out := make([]string, 0, len(rows))
		for _, r := range rows {
			out = append(out, r.AuthorizationID)
		}
		return out, next
	}
	both := []string{second.AuthorizationID, first.AuthorizationID}
	got, _ := list(hold.Filter{}, pg.Page{})
	require.Equal(t, both, got, "newest first")
	got, next := list(hold.Filter{}, pg.Page{Limit: 1})
	require.Equal(t, both[:1], got)
	got, next = list(hold.Filter{}, pg.Page{Limit: 1, After: next})
	require.Equal(t, both[1:], got)
	require.Empty(t, next)
	got, _ = list(hold.Filter{RiskClass: "low"}, pg.Page{})
	require.Equal(t, both[1:], got)
	got, _ = list(hold.Filter{Action: "other"}, pg.Page{})
	require.Empty(t, got)
	got, _ = list(hold.Filter{OpenedBefore: &first.OpenedAt}, pg.Page{})
	require.Equal(t, both[1:], got)
	got, _ = list(hold.Filter{Subject: "unknown"}, pg.Page{})
	require.Empty(t, got)
	early := now.Add(time.Hour)
	got, _ = list(hold.Filter{DueBefore: &early}, pg.Page{})
	require.Empty(t, got)

	rows, _, err := b.service.Queue(t.Context(), b.Principal("crd_ann"), hold.Filter{RiskClass: "low"}, pg.Page{Limit: 1})
	require.NoError(t, err)
	require.Equal(t, 1, rows[0].Approvals)
	require.Equal(t, hold.Approve, *rows[0].OwnResolution)
	require.Equal(t, 2, rows[0].ApprovalsRequired)
	require.Equal(t, "user-4711", rows[0].Subject)
	require.Equal(t, models.Strings{"insufficient_evidence"}, rows[0].ReasonCodes)

	b.clock.Advance(life)
	got, _ = list(hold.Filter{}, pg.Page{})
	require.Empty(t, got, "what is due is not pending")
	got, _ = list(hold.Filter{Status: models.HoldExpired}, pg.Page{})
	require.Equal(t, both, got)
}

// What is due soonest comes first, and the pages of that order join.
func TestQueueByUrgency(t *testing.T) {
	t.Parallel()
	b := setup(t)
	late, soon, middle := b.Hold(3*life, 1), b.Hold(life, 1), b.Hold(2*life, 1)
	var got []string
	page := pg.Page{Limit: 1}
	for {
		rows, next, err := b.service.Queue(t.Context(), b.Principal("crd_ann"), hold.Filter{MostUrgent: true}, page)
		require.NoError(t, err)
		require.Len(t, rows, 1)
		got = append(got, rows[0].AuthorizationID)
		if page.After = next; next == "" {
			break
		}
	}
	require.Equal(t, []string{soon.AuthorizationID, middle.AuthorizationID, late.AuthorizationID}, got)
}

// The queue shows a reviewer which holds they may not review.
func TestQueueShowsWhetherSelfReviewIsBarred(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Hold(life, 1)
	for _, barred := range []bool{false, true} {
		b.Exec("update holds set self_review_barred = $1", barred)
		for _, reviewer := range []string{fixture.Asker, "crd_ann"} {
			rows, _, err := b.service.Queue(t.Context(), b.Principal(reviewer), hold.Filter{}, pg.Page{Limit: 1})
			require.NoError(t, err)
			require.Equal(t, barred && reviewer == fixture.Asker, rows[0].Barred, reviewer)
			require.Nil(t, rows[0].OwnResolution)
		}
	}
}

func TestCounts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	counts := func(action, risk string) hold.Counts {
		n, err := b.service.Counts(t.Context(), b.Scope, action, risk)
		require.NoError(t, err)
		return n
	}
	empty := counts("", "")
	require.Zero(t, empty.Pending)
	require.Nil(t, empty.NextDueAt)
	require.Empty(t, empty.ByAction)
	require.NotNil(t, empty.ByAction, "an empty list, not null")

	partly := b.Hold(30*time.Minute, 2)
	b.Exec("update holds set risk_class = 'low'")
	b.Hold(5*time.Hour, 1)
	b.Hold(life, 1)
	settled := b.Hold(life, 1)
	_, err := b.service.Review(t.Context(), b.prepare(t, "crd_ann", partly.AuthorizationID, hold.Approve))
	require.NoError(t, err)
	_, err = b.service.Review(t.Context(), b.prepare(t, "crd_ann", settled.AuthorizationID, hold.Reject))
	require.NoError(t, err)

	n := counts("", "")
	require.Equal(t, []int64{3, 1, 2, 0, 1}, []int64{n.Pending, n.WithinHour, n.WithinDay, n.Reminded, n.PartlyApproved})
	require.True(t, n.NextDueAt.Equal(now.Add(30*time.Minute)))
	require.True(t, n.OldestOpenedAt.Equal(now))
	require.Equal(t, []hold.KeyedCount{{Key: "high", Count: 2}, {Key: "low", Count: 1}}, n.ByRisk)
	require.Len(t, n.ByAction, 1)
	require.Equal(t, int64(3), n.ByAction[0].Count)

	require.Equal(t, int64(1), counts("", "low").Pending)
	require.Equal(t, int64(3), counts(n.ByAction[0].Key, "").Pending)
	require.Zero(t, counts("another.action", "").Pending)

	b.clock.Advance(time.Hour)
	require.Equal(t, int64(2), counts("", "").Pending, "what is due is not pending, however late its timer")
}
