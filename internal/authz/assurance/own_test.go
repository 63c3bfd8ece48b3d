package assurance_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/models"
)

// renamed returns the stated prior of typing with a different version.
func renamed(t *testing.T, version string) *scoring.Background {
	t.Helper()
	body, err := scoring.Default().Background(features.Keystroke).Marshal()
	require.NoError(t, err)
	bg, err := scoring.ParseBackground(body)
	require.NoError(t, err)
	bg.Version = version
	return bg
}

// An environment's background is its own: other environments neither use it nor know templates that were trained with it.
func TestUseOwnIsOfOneEnvironment(t *testing.T) {
	t.Parallel()
	keys, err := keyring.Parse(keyring.Generate())
	require.NoError(t, err)
	a := assurance.New(scoring.Default(), keys)
	first, second := renamed(t, "own-1"), renamed(t, "own-2")
	a.UseOwn(map[string]assurance.Own{"env_1": {InForce: []*scoring.Background{second}, Known: []*scoring.Background{first, second}}})
	prior, pointer := scoring.Default().Background(features.Keystroke).Version, scoring.Default().Background(features.Pointer).Version
	require.Equal(t, "own-2+"+pointer, a.ModelOf("env_1").Version(), "the deployment's is in force in the other modality")
	require.Equal(t, scoring.Default().Version(), a.ModelOf("env_2").Version())

	rows := func(version string) []models.Template {
		return []models.Template{{Modality: "keystroke", DeviceClass: "desktop", ModelVersion: version}}
	}
	for _, version := range []string{prior, "own-1", "own-2"} {
		require.Equal(t, "own-2", a.Heads("env_1", rows(version))[0].ModelVersion, version)
	}
	require.Equal(t, "own-1", a.Heads("env_2", rows("own-1"))[0].ModelVersion, "a template of a background unknown there does not count")

	outdated := map[string][]string{}
	for _, o := range a.Outdated(features.Keystroke) {
		outdated[o.Environment] = append(outdated[o.Environment], o.Versions...)
	}
	require.ElementsMatch(t, []string{prior, "own-1"}, outdated["env_1"])
	require.Empty(t, outdated[""])

	a.UseOwn(nil)
	require.Equal(t, scoring.Default().Version(), a.ModelOf("env_1").Version())
}
