package demo

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/testing/recordingstest"
)

func TestPeopleAreMadeUpWhereNobodyIsRecorded(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{t.TempDir(), "/no/such/folder"} {
		p, err := Load(dir, 3)
		require.NoError(t, err)
		require.True(t, p.Simulated)
		require.Contains(t, p.Source, "simulated")
		require.Len(t, p.people, 3)
		again, err := Load(dir, 3)
		require.NoError(t, err)
		require.Equal(t, p, again, "the same people every time")
	}
}

func TestNoFrameIsUsedTwice(t *testing.T) {
	t.Parallel()
	p, err := Load("/no/such/folder", 4)
	require.NoError(t, err)
	seen := map[string]string{}
	for _, one := range p.people {
		require.Len(t, one.enroll, enrollSessions)
		for _, session := range append(append([][]frame{}, one.enroll...), one.own, one.abusing) {
			require.GreaterOrEqual(t, len(session), 3)
			for _, f := range session {
				require.NotContains(t, seen, f.features.Digest())
				seen[f.features.Digest()] = one.name
				require.LessOrEqual(t, f.durationMS, 600_000.0)
				require.Positive(t, f.durationMS)
			}
		}
	}
}

func TestRecordedPeople(t *testing.T) {
	t.Parallel()
	p, err := Load(recordingstest.Folder(t), 5)
	require.NoError(t, err)
	require.False(t, p.Simulated)
	require.Len(t, p.people, 5)
}

func TestShortSessionsAreJoined(t *testing.T) {
	t.Parallel()
	sentence := make([]features.KeyEvent, 47)
	for i := range sentence {
		sentence[i] = features.KeyEvent{Key: "a", Press: float64(100 * i), Release: float64(100*i + 80)}
	}
	var sessions [][]features.KeyEvent
	for range 15 {
		sessions = append(sessions, sentence)
	}
	units := join(sessions)
	require.Len(t, units, 5)
	for _, u := range units {
		require.Len(t, u, 141)
		for i := 1; i < len(u); i++ {
			require.Greater(t, u[i].Press, u[i-1].Press)
		}
	}
	require.Equal(t, 180.0, sessions[0][1].Release, "the recording is left as it was")
	_, ok := recorded("x", sessions[:14])
	require.False(t, ok, "too little for five sessions")
	digits := make([]features.KeyEvent, 700)
	for i := range digits {
		digits[i] = features.KeyEvent{Key: "numpad_1", Press: float64(100 * i), Release: float64(100*i + 80)}
	}
	_, ok = recorded("x", [][]features.KeyEvent{digits[:140], digits[140:280], digits[280:420], digits[420:560], digits[560:]})
	require.False(t, ok, "digits are no text")
}
