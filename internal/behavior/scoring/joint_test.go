package scoring

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

func jointAt(bg *Background, a, b string) float64 {
	i, j := features.CellIndex(features.Keystroke, a), features.CellIndex(features.Keystroke, b)
	return Unpack(bg.Joint, bg.Dim())[i*bg.Dim()+j]
}

func TestCellsOfTheSameEventsErrTogether(t *testing.T) {
	t.Parallel()
	bg := Default().Background(features.Keystroke)
	for name, c := range map[string]struct {
		a, b string
		want float64
	}{
		"one class":              {"p:alt_LR", "r:alt_LR", .6},
		"one class, other rows":  {"p:alt_LR_rowchg", "r:alt_LR_rowchg", .6},
		"classes of other keys":  {"p:alt_LR", "r:alt_RL", 0},
		"other rows":             {"p:alt_LR", "p:alt_LR_rowchg", 0},
		"holds of shift":         {"h:SH", "hs:SH", .6},
		"holds and times":        {"h:SP", "p:SP_L", 0},
		"before the correction":  {"p:let_BS", "pbefBS:c", .5477},
		"spread of a slow class": {"p:SP_L", "ps:SP_L", .4243},
		"itself":                 {"h:SP", "h:SP", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.InDelta(t, c.want, jointAt(bg, c.a, c.b), 1e-4)
			require.InDelta(t, c.want, jointAt(bg, c.b, c.a), 1e-4)
		})
	}
}

// Two cells that count the same presses say little more than one of them.
func TestTheSameEventsDoNotCountTwice(t *testing.T) {
	t.Parallel()
	with := Default().Background(features.Keystroke)
	apart := *with
	apart.Joint = nil
	require.NoError(t, apart.Prepare())
	v := features.NewVector(with.Dim())
	for _, name := range []string{"p:alt_LR_rowchg", "r:alt_LR_rowchg"} {
		i := features.CellIndex(features.Keystroke, name)
		v.N[i], v.M[i] = 3, with.Mu[i]-1.5*math.Sqrt(with.b.at(i, i))
	}
	ratio := func(bg *Background) float64 {
		s, err := NewScorer(bg, []features.Vector{v, v, v})
		require.NoError(t, err)
		return s.LLR(v)
	}
	require.Less(t, ratio(with), ratio(&apart))
	require.Positive(t, ratio(with))
}

func TestBackgroundsWithoutSenseAreRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(joint []float64) []float64{
		"length":                func(j []float64) []float64 { return j[1:] },
		"not one with itself":   func(j []float64) []float64 { j[0] = .9; return j },
		"more than one":         func(j []float64) []float64 { j[1] = 1.2; return j },
		"contradict each other": func(j []float64) []float64 { j[1], j[3], j[4] = .9, .9, -.9; return j },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bg := *Default().Background(features.Keystroke)
			bg.Joint = change(slices.Clone(bg.Joint))
			require.ErrorIs(t, bg.Prepare(), ErrBackground)
		})
	}
}

func TestBackgroundsOfEarlierVersionsHaveNoCommonEvents(t *testing.T) {
	t.Parallel()
	bg := *Default().Background(features.Keystroke)
	bg.Joint = nil
	data, err := bg.Marshal()
	require.NoError(t, err)
	require.NotContains(t, string(data), "joint")
	read, err := ParseBackground(data)
	require.NoError(t, err)
	for i := range read.Dim() {
		for j := range read.Dim() {
			if i != j {
				require.Zero(t, read.joint.at(i, j))
			}
		}
	}
}
