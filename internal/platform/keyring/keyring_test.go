package keyring_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/platform/keyring"
)

// rawKey is 32 bytes that differ from each other and from other seeds.
func rawKey(seed byte) []byte {
	key := make([]byte, keyring.KeySize)
	for i := range key {
		key[i] = seed + byte(i)
	}
	return key
}

func ring(t testing.TB, seeds ...byte) *keyring.Keyring {
	t.Helper()
	keys := make([][]byte, len(seeds))
	for i, seed := range seeds {
		keys[i] = rawKey(seed)
	}
	k, err := keyring.New(keys...)
	require.NoError(t, err)
	return k
}

func TestParse(t *testing.T) {
	t.Parallel()
	want := ring(t, 0xf0).ActiveID() // its base64 differs between the two alphabets
	for _, setting := range []string{
		base64.StdEncoding.EncodeToString(rawKey(0xf0)), base64.RawStdEncoding.EncodeToString(rawKey(0xf0)),
		base64.URLEncoding.EncodeToString(rawKey(0xf0)), base64.RawURLEncoding.EncodeToString(rawKey(0xf0)),
		hex.EncodeToString(rawKey(0xf0)), strings.ToUpper(hex.EncodeToString(rawKey(0xf0))),
		" \n" + hex.EncodeToString(rawKey(0xf0)) + "\r\n",
		hex.EncodeToString(rawKey(0xf0)) + ", " + base64.StdEncoding.EncodeToString(rawKey(1)) + "\n" + hex.EncodeToString(rawKey(2)),
	} {
		k, err := keyring.Parse(setting)
		require.NoError(t, err, setting)
		require.Equal(t, want, k.ActiveID())
	}
	generated, err := keyring.Parse(keyring.Generate() + "," + keyring.Generate())
	require.NoError(t, err)
	require.Len(t, generated.MACs("p"), 2)
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	good := hex.EncodeToString(rawKey(1))
	for setting, message := range map[string]string{
		"":                       "no master key",
		" , \n":                  "no master key",
		"not a key!":             "master key 1 of 3: neither base64 nor hex",
		"secret?":                "neither base64 nor hex",
		good[:62]:                "neither base64 nor hex",
		good + "," + good:        "master key 2 of 2: given twice",
		good + "," + good[:63]:   "master key 2 of 2: ",
		strings.Repeat("00", 32): "all its bytes are the same",
		good + " " + good + "00": "master key 2 of 2: ",
		strings.Repeat("ab", 32): "all its bytes are the same",
		strings.Repeat("zz", 32): "is 48 bytes long, 32 are needed",
	} {
		_, err := keyring.Parse(setting)
		require.ErrorContains(t, err, message, setting)
		if len(setting) > 10 {
			require.NotContains(t, err.Error(), setting[:10], "an error never quotes a key")
		}
	}
	_, err := keyring.New(rawKey(1)[:31])
	require.ErrorContains(t, err, "31 bytes")
	_, err = keyring.New()
	require.Error(t, err)
}

func TestKeyringCopiesItsKeys(t *testing.T) {
	t.Parallel()
	key := rawKey(7)
	k, err := keyring.New(key)
	require.NoError(t, err)
	clear(key)
	require.Equal(t, ring(t, 7).MAC("p"), k.MAC("p"))
}

func TestNeverPrintsKeys(t *testing.T) {
	t.Parallel()
	k := ring(t, 0x41, 1)
	k.MAC("p") // a derived key in the cache must not show either
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("start", "keyring", k)
	slog.New(slog.NewTextHandler(&log, nil)).Info("start", "keyring", k)
	asJSON, err := json.Marshal(map[string]any{"k": k})
	require.NoError(t, err)
	printed := log.String() + string(asJSON) + fmt.Sprintf("%v %+v %#v %s %q %x", k, k, k, k, k, k)
	for _, secret := range []string{
		string(rawKey(0x41)[:8]), hex.EncodeToString(rawKey(0x41)[:8]), base64.StdEncoding.EncodeToString(rawKey(0x41))[:10],
		"65 66 67 68", "0x41, 0x42",
	} {
		require.NotContains(t, printed, secret)
	}
	require.Contains(t, printed, "keyring(2 keys, redacted)")
}

func TestSealAndOpen(t *testing.T) {
	t.Parallel()
	k := ring(t, 1)
	for _, plaintext := range [][]byte{nil, {}, {0}, []byte("secret"), bytes.Repeat([]byte("x"), 1<<16)} {
		sealed, err := k.Seal("signing-key", plaintext, []byte("row 1"))
		require.NoError(t, err)
		require.Len(t, sealed, len(plaintext)+keyring.Overhead)
		opened, err := k.Open("signing-key", sealed, []byte("row 1"))
		require.NoError(t, err)
		require.True(t, bytes.Equal(plaintext, opened))
		again, err := k.Seal("signing-key", plaintext, []byte("row 1"))
		require.NoError(t, err)
		require.NotEqual(t, sealed, again, "nonces do not repeat")
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	k := ring(t, 1)
	sealed, err := k.Seal("signing-key", []byte("secret"), []byte("row 1"))
	require.NoError(t, err)
	open := func(purpose string, value, aad []byte) error {
		_, err := k.Open(purpose, value, aad)
		return err
	}
	require.ErrorIs(t, open("webhook-secret", sealed, []byte("row 1")), keyring.ErrAuthentication)
	require.ErrorIs(t, open("signing-key", sealed, []byte("row 2")), keyring.ErrAuthentication)
	require.ErrorIs(t, open("signing-key", sealed, nil), keyring.ErrAuthentication)
	for i := range sealed {
		altered := bytes.Clone(sealed)
		altered[i] ^= 1
		want := keyring.ErrAuthentication
		switch {
		case i == 0:
			want = keyring.ErrMalformed
		case i <= 8:
			want = keyring.ErrUnknownKey
		}
		require.ErrorIs(t, open("signing-key", altered, []byte("row 1")), want, "byte %d", i)
	}
	for i := range sealed {
		require.Error(t, open("signing-key", sealed[:i], []byte("row 1")), "cut to %d bytes", i)
	}
	require.ErrorIs(t, open("signing-key", nil, nil), keyring.ErrMalformed)
	_, err = ring(t, 2).Open("signing-key", sealed, []byte("row 1"))
	require.ErrorIs(t, err, keyring.ErrUnknownKey)
}

// TestRotation performs a key change: old alone, new in front of old, new alone.
func TestRotation(t *testing.T) {
	t.Parallel()
	before, during, after := ring(t, 1), ring(t, 2, 1), ring(t, 2)
	require.NotEqual(t, before.ActiveID(), during.ActiveID())
	require.Equal(t, during.ActiveID(), after.ActiveID())

	old, err := before.Seal("p", []byte("secret"), nil)
	require.NoError(t, err)
	require.True(t, before.SealedByActive(old))
	require.False(t, during.SealedByActive(old), "due to be sealed again")
	opened, err := during.Open("p", old, nil)
	require.NoError(t, err)
	renewed, err := during.Seal("p", opened, nil)
	require.NoError(t, err)
	require.True(t, during.SealedByActive(renewed))
	_, err = after.Open("p", renewed, nil)
	require.NoError(t, err)
	_, err = after.Open("p", old, nil)
	require.ErrorIs(t, err, keyring.ErrUnknownKey)
	require.False(t, after.SealedByActive(nil))

	mac := before.MAC("credential", []byte("sk_test_1"))
	require.Equal(t, [][]byte{after.MAC("credential", []byte("sk_test_1")), mac}, during.MACs("credential", []byte("sk_test_1")))
	require.True(t, during.VerifyMAC("credential", mac, []byte("sk_test_1")))
	require.False(t, after.VerifyMAC("credential", mac, []byte("sk_test_1")))
	require.False(t, during.VerifyMAC("credential", mac, []byte("sk_test_2")))
	require.False(t, during.VerifyMAC("credential", mac[:31], []byte("sk_test_1")))
	require.False(t, during.VerifyMAC("credential", nil))
}

// pinned is "secret" sealed once under ring(1), purpose "signing-key", aad "row 1".
func pinned(t testing.TB) []byte {
	t.Helper()
	sealed, err := hex.DecodeString("01d86fc34f632d2ea2945221c61becb97b9456d91047fb26793b93fc9b13648f6b1dcf89137487a2a0a909")
	require.NoError(t, err)
	return sealed
}

// TestDerivationIsStable pins derived material: what is stored under it must stay readable by later versions.
func TestDerivationIsStable(t *testing.T) {
	t.Parallel()
	k := ring(t, 1)
	require.Equal(t, "d86fc34f632d2ea2", k.ActiveID())
	require.Equal(t, "dbce7e7c5553ad9098187e40ebea4fad938beb52dc3568fb98af7ad1df9ee146", hex.EncodeToString(k.MAC("credential", []byte("a"), []byte("b"))))
	opened, err := k.Open("signing-key", pinned(t), []byte("row 1"))
	require.NoError(t, err)
	require.Equal(t, "secret", string(opened))
}

func TestFingerprintsIdentifyKeysAndNothingElse(t *testing.T) {
	t.Parallel()
	k := ring(t, 1, 2)
	prints := k.Fingerprints()
	require.Len(t, prints, 2)
	require.Equal(t, k.ActiveID(), prints[0].ID)
	require.Equal(t, ring(t, 2).Fingerprints()[0], prints[1], "the same in any ring")
	require.NotEqual(t, prints[0].Value, prints[1].Value)
	// Pinned: a database recorded by an earlier version must be recognised.
	require.Equal(t, "8d09b5798096b56bcc8dabee7cfaf8e8ad6c69c887bd480d9c9dbc335349803c", hex.EncodeToString(prints[0].Value))
	for _, used := range [][]byte{rawKey(1), k.MAC("fingerprint"), k.MAC("credential")} {
		require.NotEqual(t, used, prints[0].Value, "it is of no use but to compare")
	}
	sealed, err := ring(t, 2, 1).Seal("p", nil, nil)
	require.NoError(t, err)
	require.Equal(t, prints[1].ID, keyring.SealedBy(sealed))
	for _, other := range [][]byte{nil, {0}, sealed[:keyring.Overhead-1], append([]byte{9}, sealed[1:]...)} {
		require.Empty(t, keyring.SealedBy(other))
	}
}

func TestPropertyMACSeparatesParts(t *testing.T) {
	t.Parallel()
	k := ring(t, 1)
	parts := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 4), 0, 4)
	rapid.Check(t, func(t *rapid.T) {
		a, b := parts.Draw(t, "a"), parts.Draw(t, "b")
		require.Equal(t, fmt.Sprint(a) == fmt.Sprint(b), bytes.Equal(k.MAC("p", a...), k.MAC("p", b...)))
		require.NotEqual(t, k.MAC("p", a...), k.MAC("q", a...))
	})
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	k := ring(t, 1, 2)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			purpose := fmt.Sprintf("p%d", i%2)
			for range 50 {
				sealed, err := k.Seal(purpose, []byte("secret"), nil)
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := k.Open(purpose, sealed, nil); err != nil {
					t.Error(err)
				}
				k.MACs(purpose)
			}
		})
	}
	group.Wait()
}

func FuzzOpen(f *testing.F) {
	k, sealed := ring(f, 1), pinned(f)
	f.Add(sealed)
	f.Add(sealed[:9])
	f.Fuzz(func(t *testing.T, value []byte) {
		_, err := k.Open("signing-key", value, []byte("row 1"))
		require.Equal(t, bytes.Equal(value, sealed), err == nil)
	})
}

func FuzzParse(f *testing.F) {
	f.Add(hex.EncodeToString(rawKey(1)))
	f.Add(keyring.Generate() + "," + keyring.Generate())
	f.Fuzz(func(t *testing.T, setting string) {
		k, err := keyring.Parse(setting)
		require.Equal(t, err != nil, k == nil)
	})
}

func BenchmarkMAC(b *testing.B) {
	k := ring(b, 1)
	secret := []byte("sk_test_0123456789abcdefghijABCDEFGHIJ01")
	b.ReportAllocs()
	for b.Loop() {
		k.MAC("credential", secret)
	}
}
