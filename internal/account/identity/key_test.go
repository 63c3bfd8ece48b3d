package identity

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

func TestNewKeyFormat(t *testing.T) {
	t.Parallel()
	for prefix, want := range prefixes {
		key := newKey(prefix)
		got, ok := parseKey([]byte(key))
		require.True(t, ok, key)
		require.Equal(t, want, got)
		require.NotEqual(t, key, newKey(prefix))
		require.NotContains(t, preview(key), key[prefixLength:prefixLength+secretLength/2])
	}
}

func TestParseKeyRejectsMalformedKeys(t *testing.T) {
	t.Parallel()
	key := newKey("sk_test_")
	swapped := "sk_live_" + key[prefixLength:]
	flipped := []byte(key)
	flipped[20] ^= 1
	for name, bad := range map[string]string{
		"empty": "", "prefix only": "sk_test_", "other prefix": "xx_test_" + key[prefixLength:], "prefix swapped": swapped,
		"one character": string(flipped), "longer": key + "0", "shorter": key[:len(key)-1], "spaces": strings.Repeat(" ", len(key)),
	} {
		_, ok := parseKey([]byte(bad))
		require.False(t, ok, name)
	}
}

func TestSecretPrefix(t *testing.T) {
	t.Parallel()
	require.Equal(t, "pk_live_", secretPrefix(models.ScopeClient, models.Live))
	require.Equal(t, "sk_test_", secretPrefix(models.ScopeServer, models.Sandbox))
	require.Equal(t, "sk_live_", secretPrefix(models.ScopeAdmin, models.Live))
}
