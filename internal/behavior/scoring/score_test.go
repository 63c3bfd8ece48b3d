package scoring

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

type goldenVector struct {
	N []float64 `json:"n"`
	M []float64 `json:"m"`
}

func (g goldenVector) vector() features.Vector { return features.Vector{N: g.N, M: g.M} }

type goldenCase struct {
	Sessions []goldenVector `json:"sessions"`
	Genuine  goldenVector   `json:"genuine"`
	Impostor goldenVector   `json:"impostor"`
	LLRGen   float64        `json:"llr_genuine"`
	LLRImp   float64        `json:"llr_impostor"`
}

func readGolden(t testing.TB) (*Background, []goldenCase) {
	t.Helper()
	data, err := os.ReadFile("testdata/reference_keystroke.json")
	require.NoError(t, err)
	bg, err := ParseBackground(data)
	require.NoError(t, err)
	data, err = os.ReadFile("testdata/golden_keystroke.json")
	require.NoError(t, err)
	var file struct {
		Cases []goldenCase `json:"cases"`
	}
	require.NoError(t, json.Unmarshal(data, &file))
	require.NotEmpty(t, file.Cases)
	return bg, file.Cases
}

// The golden scores come from an independent implementation of the same model, on vectors drawn from the model.
func TestScoresMatchTheReference(t *testing.T) {
	t.Parallel()
	bg, cases := readGolden(t)
	for _, c := range cases {
		var sessions []features.Vector
		for _, s := range c.Sessions {
			sessions = append(sessions, s.vector())
		}
		p, ok := enrol(bg, sessions)
		require.True(t, ok)
		require.InDelta(t, c.LLRGen, llr(bg, p, c.Genuine.vector()), 1e-6)
		require.InDelta(t, c.LLRImp, llr(bg, p, c.Impostor.vector()), 1e-6)
	}
}

func BenchmarkScore(b *testing.B) {
	bg, cases := readGolden(b)
	var sessions []features.Vector
	for _, s := range cases[0].Sessions {
		sessions = append(sessions, s.vector())
	}
	p, _ := enrol(bg, sessions)
	v := cases[0].Genuine.vector()
	b.ReportAllocs()
	for b.Loop() {
		llr(bg, p, v)
	}
}

func BenchmarkEnrol(b *testing.B) {
	bg, cases := readGolden(b)
	var sessions []features.Vector
	for _, s := range cases[0].Sessions {
		sessions = append(sessions, s.vector())
	}
	b.ReportAllocs()
	for b.Loop() {
		enrol(bg, sessions)
	}
}
