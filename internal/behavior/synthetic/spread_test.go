package synthetic_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
)

// Simulated people differ as the stated prior says that people do, in every family of cells and not only in the times that are
// drawn directly.
func TestSimulatedPeopleDifferInEveryFamily(t *testing.T) {
	t.Parallel()
	const people, keys, fewest = 150, 600, 8
	bg := scoring.Default().Background(features.Keystroke)
	sum, square, count, noise := make([]float64, bg.Dim()), make([]float64, bg.Dim()), make([]float64, bg.Dim()), make([]float64, bg.Dim())
	for seed := range uint64(people) {
		seen := features.ExactKeystroke(synthetic.NewTypist(seed).Type(keys))
		for i, n := range seen.N {
			if n >= fewest {
				sum[i], square[i], count[i] = sum[i]+seen.M[i], square[i]+seen.M[i]*seen.M[i], count[i]+1
				noise[i] += bg.Sig2[i] / n
			}
		}
	}
	ratios := map[string][]float64{}
	for i, cell := range features.Cells(features.Keystroke) {
		if count[i] < people/2 {
			continue
		}
		mean := sum[i] / count[i]
		family, _, _ := strings.Cut(cell.Name, ":")
		if strings.HasSuffix(cell.Name, ":all") || strings.HasSuffix(cell.Name, ":c") {
			family = "rates"
		}
		stated := bg.Spread(i) + noise[i]/count[i]
		ratios[family] = append(ratios[family], math.Sqrt((square[i]/count[i]-mean*mean)/stated))
	}
	require.GreaterOrEqual(t, len(ratios), 7)
	for family, all := range ratios {
		total := 0.0
		for _, r := range all {
			total += r
		}
		ratio := total / float64(len(all))
		t.Logf("%s: %.2f of the stated deviation between people, over %d cells", family, ratio, len(all))
		require.InDelta(t, 1, ratio, .45, family)
	}
}

// Of people who are drawn and not chosen, nearly all are recognised, nearly no stranger is, and none is confirmed.
func TestSimulatedStrangersAreDistinguished(t *testing.T) {
	t.Parallel()
	m := synthetic.Population()
	const people = 40
	var trusted, refused, confirmed, pairs int
	templates := make([]scoring.Templates, people)
	days := make([][]features.Frame, people)
	for seed := range uint64(people) {
		who := synthetic.NewTypist(5000 + seed)
		templates[seed], days[seed] = enrol(t, m, who), frames(who, 5)
	}
	for owner := range people {
		for _, typist := range []int{owner, (owner + 1) % people, (owner + 7) % people, (owner + 20) % people} {
			status := observe(m, templates[owner], days[typist]).Claim(scoring.ClaimContinuity).Status
			if typist == owner {
				if status == scoring.Confirmed || status == scoring.Likely {
					trusted++
				}
				continue
			}
			pairs++
			switch status {
			case scoring.NotConfirmed:
				refused++
			case scoring.Confirmed:
				confirmed++
			}
		}
	}
	t.Logf("%d of %d trusted, %d of %d strangers not_confirmed, %d confirmed", trusted, people, refused, pairs, confirmed)
	require.GreaterOrEqual(t, trusted, people*90/100)
	require.GreaterOrEqual(t, refused, pairs*95/100)
	require.Zero(t, confirmed)
}
