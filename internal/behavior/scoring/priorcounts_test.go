package scoring

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// The rates are of one text: every key is in one group, and every two neighbouring keys are in one class.
func TestEnglishRatesAddUpToFiftyKeys(t *testing.T) {
	t.Parallel()
	for name, family := range map[string]struct {
		prefix string
		total  float64
	}{"keys": {"h:", 50}, "pairs": {"p:", 49}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sum := 0.
			for _, c := range features.Cells(features.Keystroke) {
				if class, ok := strings.CutPrefix(c.Name, family.prefix); ok {
					sum += englishRates[class]
				}
			}
			require.InDelta(t, family.total, sum, 3)
		})
	}
}

func TestBinsAreWorthMoreInFrequentClasses(t *testing.T) {
	t.Parallel()
	bg := Default().Background(features.Keystroke)
	worth := func(name string) (few, many float64) {
		i := features.CellIndex(features.Keystroke, name)
		return bg.Few[i], bg.Many[i]
	}
	few, many := worth("h:LM")
	rareFew, rareMany := worth("h:RP")
	require.Greater(t, few, rareFew)
	require.Greater(t, many, rareMany)
	for i := range bg.Few {
		require.True(t, bg.Few[i] >= 1 && bg.Few[i] <= 3, bg.Cells[i])
		require.True(t, bg.Many[i] >= manyLeast && bg.Many[i] <= 50, bg.Cells[i])
	}
	_, rows := worth("ps:alt_LR")
	_, one := worth("p:alt_LR")
	require.Greater(t, rows, one, "the spread of a class is of both kinds of rows")
}
