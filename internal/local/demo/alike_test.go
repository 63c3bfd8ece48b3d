package demo

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/moments"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/lab/recordings"
	"github.com/countersign-dev/countersign/internal/testing/recordingstest"
)

// ownBackground is the background after n people of a different set of recordings enrolled.
func ownBackground(t *testing.T, data string, n int) *scoring.Background {
	t.Helper()
	sessions, err := recordings.ReadKeystrokes(filepath.Join(data, "keystroke", "aalto-dev.keystrokes.csv.gz"))
	require.NoError(t, err)
	prior := scoring.Default().Background(features.Keystroke)
	sums := moments.Empty(prior)
	for _, p := range pick(sessions, 3*n) {
		ts := enrolled(t, scoring.Default(), p)
		var vectors []features.Vector
		for _, s := range ts[0].Sessions {
			vectors = append(vectors, s.Cells)
		}
		if share, ok := moments.Share(prior, vectors); ok && sums.People < n {
			require.NoError(t, sums.Add(share))
		}
	}
	require.Equal(t, n, sums.People)
	bg, err := sums.Background(prior, "own")
	require.NoError(t, err)
	return bg
}

func enrolled(t *testing.T, m *scoring.Model, p person) scoring.Templates {
	t.Helper()
	var sessions []scoring.SessionFrames
	for _, s := range p.enroll {
		var one scoring.SessionFrames
		for _, f := range s {
			one.Frames = append(one.Frames, f.features)
		}
		sessions = append(sessions, one)
	}
	ts, _, err := m.Train(sessions, scoring.TrainOptions{Device: scoring.Desktop, Force: true})
	require.NoError(t, err)
	return ts
}

// claimOf is the claim of continuity at the end of typing in the name of the templates' person.
func claimOf(m *scoring.Model, ts scoring.Templates, typed []frame) scoring.Status {
	s, at := scoring.NewState(scoring.Desktop), time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	for _, f := range typed {
		span := time.Duration(f.durationMS) * time.Millisecond
		at = at.Add(span)
		s, _ = m.Add(s, scoring.Input{Frame: f.features, Timestamp: at, Duration: span}, ts, at)
	}
	return m.Assess(s, ts, at, scoring.AssessOptions{}).Claim(scoring.ClaimContinuity).Status
}

// Every recorded writer of the demonstration types in the name of every other, as docs/accuracy.md states: no stranger is
// confirmed. Two of the writers type alike in every cell.
func TestRecordedWritersInTheNameOfEachOther(t *testing.T) {
	t.Parallel()
	data := recordingstest.Folder(t)
	p, err := Load(data, 5)
	require.NoError(t, err)
	for _, c := range []struct {
		name   string
		model  *scoring.Model
		likely int
	}{
		{"prior alone", scoring.Default(), 2},
		{"own background of 30", scoring.NewModel(ownBackground(t, data, 30)), 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			others := map[scoring.Status]int{}
			for i, owner := range p.people {
				ts := enrolled(t, c.model, owner)
				require.Contains(t, []scoring.Status{scoring.Likely, scoring.Confirmed}, claimOf(c.model, ts, owner.own))
				for j, typist := range p.people {
					if i != j {
						others[claimOf(c.model, ts, typist.abusing)]++
					}
				}
			}
			t.Log(others)
			require.LessOrEqual(t, others[scoring.Likely], c.likely)
			require.Zero(t, others[scoring.Confirmed])
		})
	}
}
