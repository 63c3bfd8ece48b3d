package reference

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Every synonym stands for a phrase that can be found in a query, and for words that the documentation has.
func TestSynonymsAreWordsOfTheDocumentation(t *testing.T) {
	t.Parallel()
	s := &section{uses: map[string][]link{}, guides: map[string]*guide{}}
	require.NoError(t, s.read())
	require.Len(t, synonymsByStems(), len(synonyms), "two phrases are the same")
	for phrase, words := range synonyms {
		require.LessOrEqual(t, len(stemsOf(phrase)), longestSynonym, phrase)
		for _, stem := range stemsOf(words) {
			require.False(t, newWord(stem).common, "%s: %s", phrase, words)
			require.Contains(t, s.index.postings, stem, "%s: %s", phrase, words)
		}
	}
}
