package assurance_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
	"github.com/countersign-dev/countersign/models"
)

// person is the stored evidence of a person: a sealed template, and the state of a session.
type person struct {
	template models.Template
	state    scoring.State
}

// typed returns the evidence of a person who has typed some frames.
func typed(t *testing.T, seed uint64, frames int) (scoring.Template, scoring.State) {
	t.Helper()
	typist := synthetic.NewTypist(seed)
	var s scoring.SessionFrames
	for range 6 {
		s.Frames = append(s.Frames, typist.Frame(50))
	}
	ts, _, err := scoring.Default().Train([]scoring.SessionFrames{s}, scoring.TrainOptions{Device: scoring.Desktop, Force: true})
	require.NoError(t, err)
	state := scoring.NewState(scoring.Desktop)
	for i := range frames {
		var ack scoring.Ack
		at := now.Add(time.Duration(i) * time.Minute)
		state, ack = scoring.Default().Add(state, scoring.Input{Frame: typist.Frame(50), Timestamp: at, Duration: time.Minute, Ref: "frame"}, ts, at)
		require.Equal(t, features.Accepted, ack.Status)
	}
	return ts[0], state
}

// The memory is reused by one person's frame after another's: nothing of the one may be in what is read of the other.
func TestReusedMemoryHoldsOnePersonOnly(t *testing.T) {
	t.Parallel()
	a := newAssessor(t)
	var people []person
	for i, frames := range []int{30, 1, 12} {
		template, state := typed(t, uint64(i), frames) // #nosec G115 -- a small index
		sealed, err := a.SealTemplate(models.Template{ID: "tpl"}, template)
		require.NoError(t, err)
		people = append(people, person{models.Template{ID: "tpl", Data: sealed}, state})
	}
	for range 3 {
		for _, p := range people {
			o := a.Opened()
			o.Begin()
			require.NoError(t, o.Take(p.template))
			sealed, err := o.Seal("ses", p.state)
			require.NoError(t, err)
			state, err := o.State(models.Session{ID: "ses", State: sealed})
			require.NoError(t, err)

			want, err := a.OpenTemplate(p.template)
			require.NoError(t, err)
			require.Equal(t, want, o.Templates()[0])
			require.Len(t, o.Templates(), 1)
			wantState, err := p.state.MarshalBinary()
			require.NoError(t, err)
			found, err := state.MarshalBinary()
			require.NoError(t, err)
			require.Equal(t, wantState, found)
			o.Close()
		}
	}
}

func TestOpenedTemplatesAreThoseOfTheirRow(t *testing.T) {
	t.Parallel()
	a := newAssessor(t)
	template, _ := typed(t, 1, 1)
	row := models.Template{ID: "tpl_1", SubjectUID: "sub_1"}
	sealed, err := a.SealTemplate(row, template)
	require.NoError(t, err)
	o := a.Opened()
	defer o.Close()
	row.Data = sealed
	for _, other := range []models.Template{{ID: "tpl_2", SubjectUID: "sub_1", Data: sealed}, {ID: "tpl_1", SubjectUID: "sub_2", Data: sealed}} {
		require.ErrorContains(t, o.Take(other), "template "+other.ID)
	}
	require.Empty(t, o.Templates())
	require.NoError(t, o.Take(row))
	_, err = o.State(models.Session{ID: "ses_1", State: sealed})
	require.ErrorContains(t, err, "ses_1")
}
