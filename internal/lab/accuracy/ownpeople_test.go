package accuracy_test

import (
	"context"
	"fmt"
	"path/filepath"
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
