package passkey

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

type hexBytes []byte

func (h *hexBytes) UnmarshalText(text []byte) error {
	raw, err := hex.DecodeString(string(text))
	*h = raw
	return err
}

type w3cVector struct {
	Name         string
	Outcome      problem.Code // empty: accepted
	Registration struct {
		CredentialID      hexBytes `json:"credential_id"`
		ClientDataJSON    hexBytes `json:"clientDataJSON"`
		AttestationObject hexBytes `json:"attestationObject"`
	}
	Authentication struct {
		Challenge         hexBytes
		ClientDataJSON    hexBytes `json:"clientDataJSON"`
		AuthenticatorData hexBytes `json:"authenticatorData"`
		Signature         hexBytes
	}
}

// The test vectors of the WebAuthn specification, checked against this package's rules: ceremonies without user
// verification, or in a frame, are valid by the specification and rejected here.
func TestVerifyW3CTestVectors(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/w3c-vectors.json")
	require.NoError(t, err)
	var file struct{ Vectors []w3cVector }
	require.NoError(t, json.Unmarshal(raw, &file))
	require.Len(t, file.Vectors, 8)
	env := models.Environment{RPID: "example.org", Settings: models.Settings{RPName: "Example", RPOrigins: models.Strings{"https://example.org"}}}
	for _, v := range file.Vectors {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			c := ceremony{env: env, user: user{models.Subject{UID: "sub_vector"}, []models.Passkey{v.passkey(t)}}, challenge: v.Authentication.Challenge}
			assertion, err := protocol.ParseCredentialRequestResponseBytes(v.assertion(t, v.Authentication.Signature))
			require.NoError(t, err)
			row, err := c.verify(assertion)
			if v.Outcome != "" {
				require.True(t, problem.Is(err, v.Outcome), "%v", err)
				return
			}
			require.NoError(t, err)
			require.EqualValues(t, v.Registration.CredentialID, row.CredentialID)

			bent := append([]byte{}, v.Authentication.Signature...)
			bent[len(bent)-1] ^= 1
			assertion, err = protocol.ParseCredentialRequestResponseBytes(v.assertion(t, bent))
			require.NoError(t, err)
			_, err = c.verify(assertion)
			require.True(t, problem.Is(err, problem.AssertionSignature), "%v", err)
		})
	}
}

func (v w3cVector) passkey(t testing.TB) models.Passkey {
	t.Helper()
	response := map[string]any{"clientDataJSON": encode(v.Registration.ClientDataJSON), "attestationObject": encode(v.Registration.AttestationObject)}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(v.publicKeyCredential(t, response))
	require.NoError(t, err)
	made, err := webauthn.NewCredential(nil, parsed)
	require.NoError(t, err)
	return models.Passkey{
		ID: "psk_vector", CredentialID: made.ID, PublicKey: made.PublicKey, AttestationType: made.AttestationType,
		SignCount: int64(made.Authenticator.SignCount), BackupEligible: made.Flags.BackupEligible,
	}
}

func (v w3cVector) assertion(t testing.TB, signature []byte) []byte {
	t.Helper()
	return v.publicKeyCredential(t, map[string]any{
		"clientDataJSON": encode(v.Authentication.ClientDataJSON), "authenticatorData": encode(v.Authentication.AuthenticatorData),
		"signature": encode(signature),
	})
}

func (v w3cVector) publicKeyCredential(t testing.TB, response map[string]any) []byte {
	t.Helper()
	id := encode(v.Registration.CredentialID)
	raw, err := json.Marshal(map[string]any{
		"id": id, "rawId": id, "type": "public-key", "clientExtensionResults": map[string]any{}, "response": response,
	})
	require.NoError(t, err)
	return raw
}
