package passkey

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Any bytes as an assertion are either rejected with an assertion code, or are a valid signature of this challenge.
func FuzzAssertion(f *testing.F) {
	raw, err := os.ReadFile("testdata/w3c-vectors.json")
	require.NoError(f, err)
	var file struct{ Vectors []w3cVector }
	require.NoError(f, json.Unmarshal(raw, &file))
	env := models.Environment{RPID: "example.org", Settings: models.Settings{RPName: "Example", RPOrigins: models.Strings{"https://example.org"}}}
	v := file.Vectors[len(file.Vectors)-1]
	for _, known := range file.Vectors {
		if known.Outcome == "" {
			v = known
		}
		f.Add(known.assertion(f, known.Authentication.Signature))
	}
	c := ceremony{env: env, user: user{models.Subject{UID: "sub_vector"}, []models.Passkey{v.passkey(f)}}, challenge: v.Authentication.Challenge}
	f.Fuzz(func(t *testing.T, raw []byte) {
		parsed, err := protocol.ParseCredentialRequestResponseBytes(raw)
		if err != nil {
			return
		}
		if _, err = c.verify(parsed); err != nil {
			require.NotNil(t, problem.As(err))
			require.Contains(t, string(problem.As(err).Code), "assertion_")
			return
		}
		require.Equal(t, encode(c.challenge), parsed.Response.CollectedClientData.Challenge)
		require.True(t, parsed.Response.AuthenticatorData.Flags.UserVerified())
	})
}
