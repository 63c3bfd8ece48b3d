package gobuild_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/local/gobuild"
)

func TestMachineWithoutGo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := gobuild.Build(t.Context(), gobuild.Spec{Dir: t.TempDir(), Package: ".", Out: "program"}, func(gobuild.Progress) {})
	require.ErrorIs(t, err, gobuild.ErrNoGo)
}
