package accuracy

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestFiguresOfMeritOnKnownScores(t *testing.T) {
	t.Parallel()
	g, i := []float64{1, 2, 3, 4}, []float64{-1, 0, 1.5, 2.5}
	require.InDelta(t, .25+.125, EER(g, i), .13)
	require.InDelta(t, 13./16, AUC(g, i), 1e-9)
	require.Zero(t, EER([]float64{5, 6}, []float64{1, 2}))
	require.InDelta(t, 1, EER([]float64{1, 2}, []float64{5, 6}), 1e-9)
	require.InDelta(t, .5, AUC([]float64{1, 1}, []float64{1, 1}), 1e-9)
	require.Zero(t, FNMRAt([]float64{5, 6}, []float64{1, 2}, .01))
	require.True(t, math.IsNaN(EER(nil, i)))
	require.True(t, math.IsNaN(AUC(g, nil)))
}

func TestFiguresOfMeritStayInRange(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		scores := rapid.SliceOfN(rapid.Float64Range(-50, 50), 1, 40)
		g, i := scores.Draw(t, "genuine"), scores.Draw(t, "impostor")
		for _, v := range []float64{EER(g, i), AUC(g, i), FNMRAt(g, i, .01)} {
			require.True(t, v >= 0 && v <= 1, "%v", v)
		}
		require.InDelta(t, 1, AUC(g, i)+AUC(i, g), 1e-9)
		for _, p := range tradeOff(g, i) {
			require.True(t, p[1] >= 0 && p[1] <= 1)
		}
	})
}

func TestResamplingSweepAgreesWithTheDefinitions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		scores := rapid.SliceOfN(rapid.Float64Range(-5, 5), 1, 12)
		people := make([]Person, rapid.IntRange(1, 5).Draw(t, "people"))
		weights := make([]float64, len(people))
		for p := range people {
			people[p] = Person{scores.Draw(t, "genuine"), scores.Draw(t, "impostor")}
			weights[p] = 1
		}
		g, i := pool(people)
		got, ok := rank(people).figures(weights)
		require.True(t, ok)
		require.InDelta(t, EER(g, i), got.eer, 1e-9)
		require.InDelta(t, AUC(g, i), got.auc, 1e-9)
	})
}
