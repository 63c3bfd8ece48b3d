package authorization

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestAStoredResponseIsWhatWasReturned draws every field of a response. Postgres stores JSON with other spaces and another order of its keys.
func TestAStoredResponseIsWhatWasReturned(t *testing.T) {
	t.Parallel()
	respelt := func(t *rapid.T, raw []byte) []byte {
		var fields map[string]any
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		require.NoError(t, d.Decode(&fields))
		out, err := json.MarshalIndent(fields, "", " ")
		require.NoError(t, err)
		return out
	}
	rapid.Check(t, func(t *rapid.T) {
		r := rapid.Make[Response]().Draw(t, "response")
		want, err := json.Marshal(r)
		require.NoError(t, err)
		profile, err := json.Marshal(r.Assurance)
		require.NoError(t, err)
		stored, err := r.stored()
		require.NoError(t, err)
		require.NotContains(t, string(stored), `"assurance"`)
		require.Contains(t, string(stored), `"proof":null`)
		read, err := readStored(respelt(t, stored), respelt(t, profile))
		require.NoError(t, err)
		read.Proof = r.Proof
		got, err := json.Marshal(read)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
	})
}
