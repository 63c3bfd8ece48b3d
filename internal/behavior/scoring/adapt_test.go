package scoring

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

func trustedStatus(s Status) bool { return s == Confirmed || s == Likely }

// An attacker who drifts from the owner's behaviour to his own in 200 daily sessions of one per cent each must not end up
// with a template that takes him for the owner.
func TestSlowPoisoningIsBounded(t *testing.T) {
	t.Parallel()
	m := populated()
	bg := m.Background(features.Keystroke)
	for seed := range uint64(3) {
		owner, attacker := drawPerson(bg, 40+seed), drawPerson(bg, 140+seed)
		ts := enrolled(m, owner)
		before, at := run(m, attacker, ts, 6, NewState(Desktop), testStart)
		require.False(t, trustedStatus(continuity(m, before, ts, at).Status), "the pair must differ to begin with")

		walker := drawPerson(bg, 40+seed)
		adaptations := 0
		for step := range 200 {
			for i := range walker.offset {
				walker.offset[i] = owner.offset[i] + float64(step)/200*(attacker.offset[i]-owner.offset[i])
			}
			day := testStart.AddDate(0, 0, step+1)
			s, at := run(m, walker, ts, 6, NewState(Desktop), day)
			if next, err := m.Adapt(ts, s, m.Assess(s, ts, at, AssessOptions{})); err == nil {
				ts = next
				adaptations++
			}
		}
		require.Greater(t, adaptations, 5, "the drift must have been taken in for a while")
		after, at := run(m, attacker, ts, 6, NewState(Desktop), testStart.AddDate(1, 0, 0))
		require.NotEqual(t, Confirmed, continuity(m, after, ts, at).Status)
		require.Less(t, after.Keystroke.Long, confirmLLR-6.0)
		own, at := run(m, owner, ts, 6, NewState(Desktop), testStart.AddDate(1, 0, 1))
		require.True(t, trustedStatus(continuity(m, own, ts, at).Status), "the owner must still be taken for the owner")
	}
}

func TestAdaptationOnlyAfterConfirmationAndNotTooOften(t *testing.T) {
	t.Parallel()
	m := populated()
	bg := m.Background(features.Keystroke)
	owner, other := drawPerson(bg, 50), drawPerson(bg, 51)
	ts := enrolled(m, owner)
	s, at := run(m, owner, ts, 6, NewState(Desktop), testStart.AddDate(0, 0, 9))
	p := m.Assess(s, ts, at, AssessOptions{})
	require.Equal(t, Confirmed, p.Claim(ClaimContinuity).Status)

	adapted, err := m.Adapt(ts, s, p)
	require.NoError(t, err)
	require.Equal(t, 0, ts[0].Adaptations, "the old template stays for rollback")
	require.Equal(t, 1, adapted[0].Adaptations)
	require.Contains(t, adapted[0].Limitations, ReasonAdapted)
	_, err = m.Adapt(adapted, s, p)
	require.ErrorIs(t, err, ErrTooSoon)

	s, at = run(m, other, ts, 6, NewState(Desktop), testStart.AddDate(0, 0, 20))
	_, err = m.Adapt(ts, s, m.Assess(s, ts, at, AssessOptions{}))
	require.ErrorIs(t, err, ErrNotConfirmed)
	_, err = m.Adapt(nil, s, p)
	require.ErrorIs(t, err, ErrNotAdaptable)
}

func TestAdaptationKeepsTheFirstSessions(t *testing.T) {
	t.Parallel()
	m := populated()
	owner := drawPerson(m.Background(features.Keystroke), 60)
	ts := enrolled(m, owner)
	anchors := ts[0].anchors()
	for day := range 10 {
		s, at := run(m, owner, ts, 6, NewState(Desktop), testStart.AddDate(0, 0, 10+day))
		if next, err := m.Adapt(ts, s, m.Assess(s, ts, at, AssessOptions{})); err == nil {
			ts = next
		}
	}
	require.Greater(t, ts[0].Adaptations, 2)
	require.Len(t, ts[0].Sessions, maxSessions)
	require.Equal(t, anchors, ts[0].anchors())
}

func TestRememberedSessionsCannotBeReplayed(t *testing.T) {
	t.Parallel()
	m := populated()
	owner := drawPerson(m.Background(features.Keystroke), 61)
	ts := enrolled(m, owner)
	day := owner.day()
	captured := owner.frame(day, 50)
	s, at := run(m, owner, ts, 5, NewState(Desktop), testStart.AddDate(0, 0, 9))
	s, _ = m.Add(s, input(captured, at), ts, at)
	p := m.Assess(s, ts, at, AssessOptions{})
	require.True(t, trustedStatus(p.Claim(ClaimContinuity).Status))

	_, ack := m.Add(NewState(Desktop), input(captured, at), ts, at)
	require.NotContains(t, ack.Reasons, ReasonReplayNear)
	_, ack = m.Add(NewState(Desktop), input(captured, at), m.Remember(ts, s, p), at)
	require.Contains(t, ack.Reasons, ReasonReplayNear)
}
