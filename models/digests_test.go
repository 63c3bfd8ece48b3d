package models_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

const (
	digestA = "sha256:f480f2b0701ba40596c81163d4c9d796b4c785cca34ef0d9d727a39ffc0133d9"
	digestB = "sha256:b276b5b8e52d5bce2f762609c9baf2be97772f949893c3f7ea55d272b76339c5"
)

func TestDigestsReturnAsTheyWere(t *testing.T) {
	t.Parallel()
	made := models.Authorization{ResourceDigest: digestA, ContextDigest: digestB, ActionHash: digestB, PolicyHash: digestA}
	read := models.Authorization{Digests: made.PackDigests()}
	require.Len(t, read.Digests, 128)
	require.NoError(t, read.UnpackRecord())
	read.Digests = nil
	require.Equal(t, made, read)
}

// A column keeps what has no other form.
func TestDigestsOfOtherFormsStayInTheirColumns(t *testing.T) {
	t.Parallel()
	for name, digest := range map[string]string{
		"none": "", "short": "sha256:0", "in capitals": "sha256:F480F2B0701BA40596C81163D4C9D796B4C785CCA34EF0D9D727A39FFC0133D9",
		"of another function": "sha512:f480f2b0701ba40596c81163d4c9d796b4c785cca34ef0d9d727a39ffc0133d9",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := models.Authorization{ResourceDigest: digestA, ContextDigest: digestB, ActionHash: digest, PolicyHash: digestA}
			require.Nil(t, a.PackDigests())
			require.NoError(t, a.UnpackRecord())
			require.Equal(t, digest, a.ActionHash)
		})
	}
}

func TestDamagedDigestsAreErrors(t *testing.T) {
	t.Parallel()
	a := models.Authorization{ID: "azn_1", Digests: make([]byte, 127)}
	require.ErrorContains(t, a.UnpackRecord(), "digests of authorization azn_1: 127 bytes are not 4 digests")
}
