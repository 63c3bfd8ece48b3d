package scoring

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// stored is a state and a keystroke template with something in every field, and their stored forms.
func stored(t require.TestingT) (State, Template, []byte, []byte) {
	m := populated()
	owner := drawPerson(m.Background(features.Keystroke), 31)
	ts := enrolled(m, owner)
	tmpl := *ts.Find(features.Keystroke, Desktop)
	tmpl.Limitations = []string{ReasonAdapted}
	s, at := run(m, owner, ts, 12, NewState(Desktop), testStart)
	late := input(owner.frame(owner.day(), 60), at.Add(-staleMS))
	s, _ = m.Add(s, late, ts, at)
	require.NotEmpty(t, s.Oddities)
	require.NotEmpty(t, s.Keystroke.Shorts)
	state, err := s.MarshalBinary()
	require.NoError(t, err)
	template, err := tmpl.MarshalBinary()
	require.NoError(t, err)
	return s, tmpl, state, template
}

// What was read back is written the same again: the format loses nothing.
func TestStorageIsWrittenTheSameAgain(t *testing.T) {
	t.Parallel()
	was, _, state, template := stored(t)
	var s State
	require.NoError(t, s.UnmarshalBinary(state))
	again, err := s.MarshalBinary()
	require.NoError(t, err)
	require.Equal(t, state, again)
	was.Keystroke.chunks, s.Keystroke.chunks = nil, nil // cells are stored as single floats
	was.Pointer.chunks, s.Pointer.chunks = nil, nil
	was.Pattern.cells, s.Pattern.cells = features.Vector{}, features.Vector{}
	require.Equal(t, was, s)

	var tmpl Template
	require.NoError(t, tmpl.UnmarshalBinary(template))
	again, err = tmpl.MarshalBinary()
	require.NoError(t, err)
	require.Equal(t, template, again)
}

// Cut short anywhere, with something behind it or of another version, stored bytes are refused and nothing is read.
func TestDamagedStorageIsRefused(t *testing.T) {
	t.Parallel()
	_, _, state, template := stored(t)
	for _, form := range []struct {
		whole []byte
		read  func([]byte) (any, error)
	}{
		{state, func(data []byte) (any, error) { var s State; err := s.UnmarshalBinary(data); return s, err }},
		{template, func(data []byte) (any, error) { var tmpl Template; err := tmpl.UnmarshalBinary(data); return tmpl, err }},
	} {
		nothing, _ := form.read([]byte{0})
		damaged := [][]byte{append(form.whole[:len(form.whole):len(form.whole)], 0), append([]byte{1}, form.whole[1:]...)}
		for n := 1; n < len(form.whole); n += 7 {
			damaged = append(damaged, form.whole[:n])
		}
		for _, data := range damaged {
			got, err := form.read(data)
			require.ErrorIs(t, err, ErrDamaged, len(data))
			require.Equal(t, nothing, got)
		}
	}
}

// A value that could not be read back is not written.
func TestStorageTakesNoNonsense(t *testing.T) {
	t.Parallel()
	s, tmpl, _, _ := stored(t)
	s.ActiveMS = math.NaN()
	_, err := s.MarshalBinary()
	require.ErrorIs(t, err, ErrDamaged)
	tmpl.posterior.mean[0] = float32(math.Inf(1))
	_, err = tmpl.MarshalBinary()
	require.ErrorIs(t, err, ErrDamaged)
	tmpl.posterior = posterior{}
	_, err = tmpl.MarshalBinary()
	require.ErrorIs(t, err, ErrDamaged, "the head of a template is no template")
}

// Cells of frames, merged or not, take a third of the space that single floats do, and are read as they were; so are other values, as
// single floats.
func TestCellsAreReadAsTheyWere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		n, mean float64
		size    int
	}{
		"few":                      {features.CountFew, 4.71, 3},
		"nothing on average":       {features.CountFew, 0, 2},
		"below zero":               {features.CountMany, -.35, 3},
		"merged":                   {features.CountFew + features.CountMany, (2*4.71 + 7*4.8) / 9, 3},
		"as many as fit":           {255, 5.5, 4},
		"more":                     {256, 5.5, 9},
		"weighted":                 {1.8, .33, 9},
		"mean of no whole number":  {3, .1234567, 9},
		"far outside of any range": {1, 1e30, 9},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Len(t, appendCell(nil, c.n, c.mean), c.size)
			dim := features.Dim(features.Keystroke)
			v := features.NewVector(dim)
			v.N[0], v.M[0], v.N[dim-1], v.M[dim-1] = c.n, c.mean, c.n, c.mean
			var back features.Vector
			data, err := encode(nil, stateVersion, func(p *packer) { p.cells(dim, &v) })
			require.NoError(t, err)
			require.NoError(t, decode(stateVersion, data, nil, func(p *packer) { p.cells(dim, &back) }))
			for i := range v.N {
				require.InEpsilon(t, 1+v.N[i], 1+back.N[i], 1e-6)
				require.InEpsilon(t, 1e-9+math.Abs(v.M[i]), 1e-9+math.Abs(back.M[i]), 1e-6)
			}
		})
	}
}

func BenchmarkStorage(b *testing.B) {
	s, _, state, template := stored(b)
	for name, do := range map[string]func() error{
		"write a state":   func() error { _, err := s.MarshalBinary(); return err },
		"read a state":    func() error { return new(State).UnmarshalBinary(state) },
		"read a template": func() error { return new(Template).UnmarshalBinary(template) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, do())
			}
		})
	}
}

// A person is shown all that is stored, by name, and in numbers that JSON holds.
func TestStatesAndTemplatesAreReadable(t *testing.T) {
	t.Parallel()
	s, tmpl, _, _ := stored(t)
	body, err := json.Marshal(s)
	require.NoError(t, err)
	var state struct {
		Frames    int
		Keystroke struct {
			Scored bool
			Chunks []struct {
				Keys  int
				Refs  []string
				Cells map[string][2]float64
			}
		}
		Replay struct {
			Digests      []string
			Fingerprints [][]int
		}
	}
	require.NoError(t, json.Unmarshal(body, &state))
	require.Equal(t, s.Frames, state.Frames)
	require.True(t, state.Keystroke.Scored)
	require.Len(t, state.Keystroke.Chunks, len(s.Keystroke.chunks))
	for i, c := range s.Keystroke.chunks {
		require.Equal(t, c.Keys, state.Keystroke.Chunks[i].Keys)
		require.Len(t, state.Keystroke.Chunks[i].Cells, c.cells.Filled())
	}
	require.Len(t, state.Replay.Digests, len(s.Replay.Digests))
	require.Len(t, state.Replay.Fingerprints, len(s.Replay.prints))

	body, err = json.Marshal(tmpl)
	require.NoError(t, err)
	var template struct {
		Modality, Device string
		Limitations      []string
		Sessions         []struct{ Cells map[string][2]float64 }
		Fingerprints     [][]int
		Posterior        struct {
			Cells      []string
			Mean       []float64
			Covariance [][]float64
		}
	}
	require.NoError(t, json.Unmarshal(body, &template))
	require.Equal(t, "keystroke", template.Modality)
	require.Equal(t, tmpl.Limitations, template.Limitations)
	require.Len(t, template.Sessions, len(tmpl.Sessions))
	require.Len(t, template.Sessions[0].Cells, tmpl.Sessions[0].Cells.Filled())
	require.Len(t, template.Fingerprints, len(tmpl.gallery))
	dim := features.Dim(features.Keystroke)
	require.Len(t, template.Posterior.Cells, dim)
	require.Len(t, template.Posterior.Mean, dim)
	require.Len(t, template.Posterior.Covariance, dim)
	require.Len(t, template.Posterior.Covariance[dim-1], dim)
}
