package main

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSlowPackagesAreNamedFirst(t *testing.T) {
	t.Parallel()
	slots := fmt.Sprintf("-p=%d", runtime.GOMAXPROCS(0)+1)
	for _, c := range []struct {
		name, module string
		args, want   []string
	}{
		{"all packages of the last module", ".", []string{"-timeout", "20m", "./..."}, []string{slots, "-timeout", "20m", "./slow", "./slower", "./..."}},
		{"a different module", "sdk/go", []string{"./..."}, []string{slots, "./..."}},
		{"one package", ".", []string{"-count", "1", "./fast"}, []string{slots, "-count", "1", "./fast"}},
		{"the race detector", ".", []string{"-race", "./fast"}, []string{"-race", "./fast"}},
		{"packages at once are given", ".", []string{"-p", "1", "./..."}, []string{"-p", "1", "./slow", "./slower", "./..."}},
		{"packages at once are given in one word", ".", []string{"-p=1", "./fast"}, []string{"-p=1", "./fast"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := options{modules: []string{"sdk/go", "."}, first: []string{"./slow", "./slower"}, args: c.args}
			require.Equal(t, c.want, o.goTest(c.module))
			require.Equal(t, c.want, o.goTest(c.module), "the arguments are not changed")
		})
	}
}
