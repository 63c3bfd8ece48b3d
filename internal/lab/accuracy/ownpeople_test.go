package accuracy_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
	"github.com/countersign-dev/countersign/internal/lab/accuracy"
)

// crowd writes typing of many simulated people, first seed up.
func crowd(t *testing.T, path string, first uint64, people, sessions, keys int) {
	t.Helper()
	lines := []string{"user,session,key,press_ms,release_ms"}
	for u := range uint64(people) { // #nosec G115 -- a small number
		typist := synthetic.NewTypist(first + u)
		for s := range sessions {
			typist.NewDay()
			for _, ev := range typist.Type(keys) {
				lines = append(lines, fmt.Sprintf("p%d,%d,%s,%.0f,%.0f", u, s, ev.Key, ev.Press, ev.Release))
			}
		}
	}
	writeSet(t, filepath.Dir(path), filepath.Base(path)+".keystrokes.csv.gz", lines)
}

func TestRunPlaysADeploymentThatLearnsFromItsPeople(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	crowd(t, filepath.Join(dir, "tested"), 700, 12, 5, 300)
	crowd(t, filepath.Join(dir, "enrolling"), 800, 24, 3, 400)
	r, err := accuracy.Run(context.Background(), accuracy.Options{Data: dir, Protocol: "days", OwnPeople: []int{0, 22}, Bootstrap: 2})
	require.NoError(t, err)
	for _, own := range []string{"0 own people", "22 own people"} {
		f, ok := r.Find("days", "tested", "3 sessions enrolled, 250 keys of later ones; "+own, "EER pooled")
		require.True(t, ok, own)
		require.LessOrEqual(t, float64(f.Value), .15, own)
	}
}

func TestRunRefusesOwnPeopleThatItCannotPlay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	crowd(t, filepath.Join(dir, "tested"), 700, 12, 4, 250)
	for name, c := range map[string]struct {
		opt  accuracy.Options
		says string
	}{
		"negative":             {accuracy.Options{Data: dir, OwnPeople: []int{-1}}, "between 0 and"},
		"no such protocol":     {accuracy.Options{Data: dir, OwnPeople: []int{30}, Protocol: "fusion"}, "does not measure own people"},
		"no one who may enrol": {accuracy.Options{Data: dir, OwnPeople: []int{30}, Protocol: "days"}, "no recording set fits"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := accuracy.Run(context.Background(), c.opt)
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestReportDrawsLearningCurves(t *testing.T) {
	t.Parallel()
	figure := func(protocol, kase, metric string, value accuracy.Number) accuracy.Figure {
		return accuracy.Figure{Protocol: protocol, Set: "some", Case: kase, Metric: metric, Unit: "%", Value: value}
	}
	dir := t.TempDir()
	r := accuracy.Report{Figures: []accuracy.Figure{
		figure("gallery", "1 sentences; 300 own people", "EER per user", .06),
		figure("gallery", "1 sentences; 0 own people", "EER per user", .0753),
		figure("gallery", "5 sentences; 0 own people", "EER per user", .03),
		figure("claims", "frames 3 to 10; 0 own people", "genuine confirmed or likely", .90),
		figure("claims", "frames 3 to 10", "impostor not_confirmed", .95),
	}}
	require.NoError(t, r.Write(dir))
	svg, err := os.ReadFile(filepath.Join(dir, "own-people.svg"))
	require.NoError(t, err)
	require.Contains(t, string(svg), "<title>0 own people: 7.53 %</title>")
	require.Equal(t, 1, strings.Count(string(svg), "<polyline"), "one number of people is no curve")
	require.NoFileExists(t, filepath.Join(dir, "own-people-claims.svg"))
}
