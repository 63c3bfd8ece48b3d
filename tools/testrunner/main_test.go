package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSlowPackagesAreNamedFirst(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, module string
		args, want   []string
	}{
		{"all packages of the last module", ".", []string{"-timeout", "20m", "./..."}, []string{"-timeout", "20m", "./slow", "./slower", "./..."}},
		{"a different module", "sdk/go", []string{"./..."}, []string{"./..."}},
		{"one package", ".", []string{"-count", "1", "./fast"}, []string{"-count", "1", "./fast"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := options{modules: []string{"sdk/go", "."}, first: []string{"./slow", "./slower"}, args: c.args}
			require.Equal(t, c.want, o.goTest(c.module))
			require.Equal(t, c.want, o.goTest(c.module), "the arguments are not changed")
		})
	}
}
