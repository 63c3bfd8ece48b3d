package main

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSlowPackagesAreNamedFirst(t *testing.T) {
	t.Parallel()
	always := []string{"--format", "pkgname", "--jsonfile", "events.json", "--packages"}
	for _, c := range []struct {
		name, module string
		reruns       int
		args, want   []string
	}{
		{"all packages of the last module", ".", 0, []string{"-timeout", "20m", "./..."}, []string{"./slow ./slower ./...", "--", "-timeout", "20m"}},
		{"a different module", "sdk/go", 0, []string{"./..."}, []string{"./...", "--"}},
		{"one package", ".", 0, []string{"-count", "1", "./fast"}, []string{"./fast", "--", "-count", "1"}},
		{"two packages", ".", 0, []string{"-run", "Test", ".", "./fast"}, []string{". ./fast", "--", "-run", "Test"}},
		{"failed tests run again", ".", 1, []string{"-race", "./fast"}, []string{"./fast", "--rerun-fails=1", "--rerun-fails-max-failures=5", "--rerun-fails-run-root-test", "--", "-race"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := options{modules: []string{"sdk/go", "."}, first: []string{"./slow", "./slower"}, args: c.args, reruns: c.reruns, format: "pkgname"}
			want := append(slices.Clone(always), c.want...)
			require.Equal(t, want, o.gotestsumArgs(c.module, "events.json"))
			require.Equal(t, want, o.gotestsumArgs(c.module, "events.json"), "the arguments are not changed")
		})
	}
}
