package signing_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/proof"
	"github.com/countersign-dev/countersign/internal/authz/signing"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/models"
)

func TestRestoredReturnsStoredResponseByteForByte(t *testing.T) {
	t.Parallel()
	keys, err := keyring.Parse(keyring.Generate())
	require.NoError(t, err)
	s := signing.New(nil, keys, clock.NewFake(storetest.Epoch), "https://countersign.example")
	const compact = "eyJh.eyJi.c2ln"
	sealed, err := s.SealProof("azn_1", compact)
	require.NoError(t, err)
	require.NotContains(t, string(sealed), compact)
	for name, body := range map[string]string{
		"an answer":        `{"id":"azn_1","challenge":null,"proof":"` + compact + `","proof_id":"prf_1"}`,
		"a receipt":        `{"authorization":"azn_0","decision":{"id":"azn_1","proof":"` + compact + `","proof_id":"prf_1"}}`,
		"a text like it":   `{"detail":"\"proof\":\"x\" and \"proof\":null,\"proof_id\":\"","proof":"` + compact + `","proof_id":"prf_1"}`,
		"nothing to seal":  `{"id":"azn_1","proof":null,"proof_id":null}`,
		"another document": `{"authorization":"azn_0","resolution":"reject"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stored := proof.Remove([]byte(body))
			require.NotContains(t, string(stored), compact)
			restored, err := s.Restored("azn_1", stored, sealed)
			require.NoError(t, err)
			require.Equal(t, body, string(restored))
		})
	}
	_, err = s.Restored("azn_2", proof.Remove([]byte(`{"proof":"`+compact+`","proof_id":"prf_1"}`)), sealed)
	require.Error(t, err, "a sealed proof belongs to its authorization")

	was := compact
	for name, row := range map[string]models.Proof{
		"sealed": {AuthorizationID: "azn_1", Sealed: sealed}, "written before proofs were sealed": {AuthorizationID: "azn_1", Compact: &was},
	} {
		got, err := s.Compact(row)
		require.NoError(t, err, name)
		require.Equal(t, compact, *got, name)
	}
}
