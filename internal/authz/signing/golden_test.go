package signing

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/proof"
	"github.com/countersign-dev/countersign/models"
)

// stored is a proof with the rows that it was stored in once. Files of it never change: every later version reads what an earlier wrote.
type stored struct {
	Authorization models.Authorization
	Proof         models.Proof
	Record        string // models.Authorization.Record, in base64
	Opened        string // the decrypted models.Proof.Sealed, in hex
	Key           json.RawMessage
	Compact       string
}

func TestStoredProofsOfEveryVersionAreRead(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"stored-1", "stored-2", "stored-2-digests"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile("testdata/" + name + ".json")
			require.NoError(t, err)
			var s stored
			require.NoError(t, json.Unmarshal(raw, &s))
			s.Authorization.Record, err = base64.StdEncoding.DecodeString(s.Record)
			require.NoError(t, err)
			require.NoError(t, s.Authorization.UnpackRecord())
			opened, err := hex.DecodeString(s.Opened)
			require.NoError(t, err)
			if !isSignature(opened) {
				compact, err := unpack(opened)
				require.NoError(t, err)
				require.Equal(t, s.Compact, string(compact))
				return
			}
			claims, signature, err := storedClaims(&s.Authorization, &s.Proof, opened)
			require.NoError(t, err)
			keys, err := publishedKey(models.SigningKey{KID: s.Proof.KID, PublicJWK: models.JSON(s.Key)})
			require.NoError(t, err)
			compact, err := proof.Assemble(claims, s.Proof.KID, signature, keys[s.Proof.KID])
			require.NoError(t, err)
			require.Equal(t, s.Compact, compact)
		})
	}
}

func TestDamagedSignaturesAreErrors(t *testing.T) {
	t.Parallel()
	for name, opened := range map[string][]byte{
		"nothing": {}, "cut short": {signatureVersion, 1, 2}, "an unknown version": make([]byte, signatureOverhead),
		"an unknown kind": append(append([]byte{signatureVersion}, make([]byte, signatureSize)...), 0xfe),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := storedClaims(&models.Authorization{Assurance: models.JSON("{}")}, &models.Proof{}, opened)
			require.ErrorIs(t, err, errStored)
		})
	}
}
