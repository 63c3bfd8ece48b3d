package signing_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/proof"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
)

// Whatever has become of a proof since, a repeated request is returned what the first was.
func TestRestoredReturnsStoredResponseByteForByte(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := fixture.New(t, b.st, b.time.Now())
	require.NoError(t, b.replicas[0].Establish(t.Context(), b.st.Q, w.Scope, "cli:test"))
	a := decided(w)
	p, compact, err := b.replicas[0].Issue(t.Context(), b.st.Q, &a, found, 300, nil)
	require.NoError(t, err)
	w.Write(authorization.Decision{Authorization: a, Proof: p})
	for body, unchanged := range map[string]bool{
		`{"id":"azn_1","challenge":null,"proof":"` + compact + `","proof_id":"prf_1"}`:                                 false,
		`{"authorization":"azn_0","decision":{"id":"azn_1","proof":"` + compact + `","proof_id":"prf_1"}}`:             false,
		`{"detail":"\"proof\":\"x\" and \"proof\":null,\"proof_id\":\"","proof":"` + compact + `","proof_id":"prf_1"}`: false,
		`{"id":"azn_1","proof":null,"proof_id":null}`:                                                                  true,
		`{"authorization":"azn_0","resolution":"reject"}`:                                                              true,
	} {
		stored := proof.Remove([]byte(body))
		require.Equal(t, unchanged, string(stored) == body)
		require.NotContains(t, string(stored), compact)
		restored, err := b.replicas[1].Restored(t.Context(), w.Scope, a.ID, stored)
		require.NoError(t, err)
		require.Equal(t, body, string(restored))
	}
	stored := []byte(`{"proof":null,"proof_id":"prf_1"}`)
	restored, err := b.replicas[0].Restored(t.Context(), w.Scope, "azn_without_proof", stored)
	require.NoError(t, err)
	require.Equal(t, string(stored), string(restored), "its proof was deleted")
}
