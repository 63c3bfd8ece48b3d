package proof_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/proof"
)

func TestDocuments(t *testing.T) {
	t.Parallel()
	signer := newSigner(t)
	payload := []byte(`{"sequence":42}`)
	compact, err := signer.SignDocument(t.Context(), "audit-head+jwt", payload)
	require.NoError(t, err)
	got, err := proof.VerifyDocument(compact, keysOf(signer), "audit-head+jwt")
	require.NoError(t, err)
	require.Equal(t, payload, got)

	_, err = proof.VerifyDocument(compact, keysOf(signer), "other+jwt")
	require.Error(t, err, "another typ")
	_, err = proof.VerifyDocument(compact, keysOf(newSigner(t)), "audit-head+jwt")
	require.Error(t, err, "another key")
	_, err = proof.VerifyDocument(compact[:len(compact)-1]+"_", keysOf(signer), "audit-head+jwt")
	require.Error(t, err, "altered")
	_, err = proof.Verify(compact, keysOf(signer), at(0), proof.Expect{})
	require.Error(t, err, "a document never passes for a proof")

	for _, typ := range []string{"", proof.Type} {
		_, err = signer.SignDocument(t.Context(), typ, payload)
		require.Error(t, err)
		_, err = proof.VerifyDocument(compact, keysOf(signer), typ)
		require.Error(t, err)
	}
}
