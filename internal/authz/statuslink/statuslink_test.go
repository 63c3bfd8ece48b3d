package statuslink_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/statuslink"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/models"
)

func TestLinksOpenOneAuthorization(t *testing.T) {
	t.Parallel()
	first, second := keyring.Generate(), keyring.Generate()
	ring := func(setting string) *keyring.Keyring {
		keys, err := keyring.Parse(setting)
		require.NoError(t, err)
		return keys
	}
	links := statuslink.New(ring(first), "https://trust.example")
	env := models.Environment{ID: "env_1"}
	url := links.Complete(links.Prefix(env, "azn_1"))
	token, ok := strings.CutPrefix(url, "https://trust.example/status/env_1/azn_1/")
	require.True(t, ok, url)
	require.True(t, links.Opens("env_1", "azn_1", token))
	require.True(t, statuslink.New(ring(second+","+first), "").Opens("env_1", "azn_1", token), "after a rotation of the master key")
	origin := "https://pages.example"
	env.PageOrigin = &origin
	require.True(t, strings.HasPrefix(links.Prefix(env, "azn_1"), origin+statuslink.Path))
	for name, opens := range map[string]bool{
		"another authorization": links.Opens("env_1", "azn_2", token),
		"another environment":   links.Opens("env_2", "azn_1", token),
		"a moved border":        links.Opens("env_1a", "zn_1", token),
		"no token":              links.Opens("env_1", "azn_1", ""),
		"a longer token":        links.Opens("env_1", "azn_1", token+"AA"),
		"a changed token":       links.Opens("env_1", "azn_1", "A"+token[1:]) && token[0] != 'A',
		"another key":           statuslink.New(ring(second), "").Opens("env_1", "azn_1", token),
	} {
		require.False(t, opens, name)
	}
}
