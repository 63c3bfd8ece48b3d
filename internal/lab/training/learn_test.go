package training_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
	"github.com/countersign-dev/countersign/internal/lab/training"
)

func samples(people, frames int) []training.Sample {
	var out []training.Sample
	for p := range people {
		typist := synthetic.NewTypist(uint64(p))
		for range frames {
			typist.NewDay()
			keys := typist.Type(60)
			out = append(out, training.Sample{Person: string(rune('a' + p)), Events: len(keys), Cells: features.ExactKeystroke(keys)})
		}
	}
	return out
}

func TestLearningIsReproducible(t *testing.T) {
	t.Parallel()
	set := samples(24, 6)
	digest := func() string {
		bg, err := training.Learn(set, training.DefaultOptions(features.Keystroke))
		require.NoError(t, err)
		body, err := bg.Marshal()
		require.NoError(t, err)
		sum := sha256.Sum256(body)
		return hex.EncodeToString(sum[:])
	}
	require.Equal(t, digest(), digest())
}

var update = flag.Bool("update", false, "write testdata/golden_learning.json anew")

// Learning gives what it gave when the golden file was written, on any machine: means, variances of events, and the
// diagonals of B and W.
func TestLearningGivesTheGoldenNumbers(t *testing.T) {
	t.Parallel()
	bg, err := training.Learn(samples(24, 6), training.DefaultOptions(features.Keystroke))
	require.NoError(t, err)
	got := map[string][]float64{"mu": bg.Mu, "sig2": bg.Sig2, "few": bg.Few, "many": bg.Many, "drift": bg.DriftCells}
	for i := range bg.Mu {
		at := i*(i+1)/2 + i
		got["b"], got["w"] = append(got["b"], bg.Between[at]), append(got["w"], bg.Within[at])
	}
	const file = "testdata/golden_learning.json"
	if *update {
		body, err := json.Marshal(got)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, body, 0o600))
	}
	body, err := os.ReadFile(file)
	require.NoError(t, err)
	var want map[string][]float64
	require.NoError(t, json.Unmarshal(body, &want))
	for name, values := range want {
		require.Len(t, got[name], len(values), name)
		for i, v := range values {
			require.InDelta(t, v, got[name][i], 1e-3*math.Abs(v)+1e-6, "%s of cell %d", name, i)
		}
	}
}

// Who is held back is a matter of the name alone, and about the share asked for.
func TestHeldBackPeopleAreAShare(t *testing.T) {
	t.Parallel()
	for _, share := range []float64{0, .2, .5, 1} {
		held := 0
		for i := range 5000 {
			if training.HeldBack(fmt.Sprint("user-", i), share) {
				held++
			}
		}
		require.InDelta(t, share, float64(held)/5000, .03)
	}
}

func TestLearnedBackgroundTellsPeopleApart(t *testing.T) {
	t.Parallel()
	bg, err := training.Learn(samples(40, 6), training.DefaultOptions(features.Keystroke))
	require.NoError(t, err)
	right := 0
	for p := range 10 {
		typist, other := synthetic.NewTypist(uint64(900+p)), synthetic.NewTypist(uint64(950+p))
		var enrolled []features.Vector
		for range 3 {
			typist.NewDay()
			b, _ := features.ExtractKeystroke(typist.Type(120))
			enrolled = append(enrolled, bg.Weigh(b))
		}
		s, err := scoring.NewScorer(bg, enrolled)
		require.NoError(t, err)
		typist.NewDay()
		own, _ := features.ExtractKeystroke(typist.Type(150))
		foreign, _ := features.ExtractKeystroke(other.Type(150))
		if s.LLR(bg.Weigh(own)) > s.LLR(bg.Weigh(foreign)) {
			right++
		}
	}
	require.GreaterOrEqual(t, right, 9)
}

func TestLearningFromStoredFramesBorrowsWhatTheyLack(t *testing.T) {
	t.Parallel()
	base := scoring.Default().Background(features.Keystroke)
	var set []training.Sample
	for p := range 24 {
		typist := synthetic.NewTypist(uint64(p))
		for range 5 {
			s, ok := training.FromFrame(base, string(rune('a'+p)), typist.Frame(60))
			require.True(t, ok)
			set = append(set, s)
		}
	}
	opt := training.DefaultOptions(features.Keystroke)
	opt.Base, opt.Version = base, "local-2"
	bg, err := training.Learn(set, opt)
	require.NoError(t, err)
	require.Equal(t, base.Few, bg.Few)
	require.Equal(t, 24, bg.Card.People)
	require.Equal(t, "local-2", bg.Version)
}

func TestTooFewPeopleAreRefused(t *testing.T) {
	t.Parallel()
	_, err := training.Learn(samples(3, 3), training.DefaultOptions(features.Keystroke))
	require.ErrorIs(t, err, training.ErrTooFew)
}
