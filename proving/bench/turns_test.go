package bench_test

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/local/progress"
	"github.com/countersign-dev/countersign/proving/bench"
)

func TestRatiosAreMediansOfTheirRounds(t *testing.T) {
	t.Parallel()
	turn := func(first, second float64) []bench.Row {
		return []bench.Row{{Part: "authorize", How: "8 clients", P50: first, WALKB: 4}, {P50: second}}
	}
	for name, c := range map[string]struct {
		turns [][]bench.Row
		want  []bench.Ratio
	}{
		"an odd number of rounds":      {[][]bench.Row{turn(6, 2), turn(2, 2), turn(8, 4)}, []bench.Ratio{{Median: 2, Low: 1, High: 3}}},
		"an even number of rounds":     {[][]bench.Row{turn(2, 2), turn(4, 2)}, []bench.Ratio{{Median: 1.5, Low: 1, High: 2}}},
		"a round that measured naught": {[][]bench.Row{turn(2, 2), turn(4, 0)}, []bench.Ratio{{Median: 1, Low: 1, High: 1}}},
		"nothing measured":             {[][]bench.Row{turn(0, 0)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r bench.Report
			r.Divide(c.turns, bench.Sides{First: 0, Second: 1, Of: "this over base"}, append(bench.LatencyFigures[:1:1], bench.CostFigures[5]))
			for i := range c.want {
				c.want[i].Part, c.want[i].How, c.want[i].Figure, c.want[i].Of = "authorize", "8 clients", "p50", "this over base"
			}
			require.Equal(t, c.want, r.Ratios, "WAL is left out, because one side has none")
		})
	}
}

func TestReportHasATableOfRatios(t *testing.T) {
	t.Parallel()
	r := bench.Report{Ratios: []bench.Ratio{{Part: "authorize", How: "300/s open", Figure: "WAL", Of: "this build over abc", Median: .59, Low: .5, High: .61}}}
	var out strings.Builder
	require.NoError(t, r.WriteMarkdown(&out))
	require.Contains(t, out.String(), "| authorize | 300/s open | WAL | this build over abc | 0.59 x | 0.50 x | 0.61 x |")
}

func TestWrongPartsAndBasesAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options bench.Options
		says    string
	}{
		"no such part":                    {bench.Options{Parts: []string{"autorize"}}, `PART is "autorize".*name some of authorize, evidence`},
		"a part that compares no builds":  {bench.Options{Parts: []string{"soak"}, Base: "HEAD"}, `PART is "soak".*leave out BASE, or name`},
		"a base that is no commit":        {bench.Options{Base: "no-such-commit"}, `BASE is "no-such-commit", which is no commit`},
		"a base that is an option of git": {bench.Options{Base: "--all"}, `BASE is "--all": name a commit`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.options.Bar = progress.New(io.Discard, true)
			_, err := bench.Run(t.Context(), c.options)
			require.Error(t, err)
			require.Regexp(t, c.says, err.Error())
		})
	}
}
