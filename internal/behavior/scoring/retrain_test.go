package scoring

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

func TestRetrainingCarriesTemplatesToAnotherBackground(t *testing.T) {
	t.Parallel()
	old := populated()
	body, err := old.Background(features.Keystroke).Marshal()
	require.NoError(t, err)
	next, err := ParseBackground(body)
	require.NoError(t, err)
	next.Version, next.Drift = "another", .12
	require.NoError(t, next.Prepare())
	m := NewModel(next)

	owner := drawPerson(old.Background(features.Keystroke), 70)
	ts := enrolled(old, owner)
	s, at := run(m, owner, ts, 5, NewState(Desktop), testStart.AddDate(0, 0, 9))
	require.Contains(t, continuity(m, s, ts, at).ReasonCodes, ReasonTemplateModel)

	moved, err := m.Retrain(ts, old)
	require.NoError(t, err)
	require.Equal(t, "another", moved[0].ModelVersion)
	require.NotEqual(t, "another", ts[0].ModelVersion, "the old templates stay for rollback")
	s = m.Rescore(s, moved)
	require.True(t, trustedStatus(continuity(m, s, moved, at).Status))
}
