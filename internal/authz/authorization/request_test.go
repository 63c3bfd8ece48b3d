package authorization

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/strictjson"
)

// The request that is read from the decoded body is the one that encoding/json reads from its text, and has the hash of its canonical
// form, which stored decisions have.
func TestPropertyARequestIsThatOfItsText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, _ := json.Marshal(drawBody(t))
		spelling := strictjson.Spelling{Name: "context"}
		tree, err := strictjson.Decode(text, strictjson.Limits{Spelling: &spelling})
		if err != nil {
			t.Skip("the text has a character NUL")
		}
		var want Request
		require.NoError(t, json.Unmarshal(text, &want))
		got, ok := ReadRequest(tree.(map[string]any), spelling.Text)
		require.True(t, ok)
		values := got.values
		got.values = nil
		require.Equal(t, want, got)

		form, err := canonical.JSON(want)
		require.NoError(t, err)
		sum := sha256.Sum256(slices.Concat([]byte("crd_1\n"), form))
		for _, values := range []map[string]any{nil, values} {
			r := request{Request: got, principal: identity.Principal{CredentialID: "crd_1"}}
			r.values = values
			require.NoError(t, r.digest())
			require.Equal(t, sum[:], r.hash)
			digest, err := canonical.Digest(orEmpty(want.Context))
			require.NoError(t, err)
			require.Equal(t, digest, r.contextDigest)
		}
	})
}

func orEmpty(context json.RawMessage) json.RawMessage {
	if len(context) == 0 {
		return json.RawMessage(`{}`)
	}
	return context
}

// drawBody returns a valid body, with and without the optional fields.
func drawBody(t *rapid.T) map[string]any {
	out := map[string]any{"resource": map[string]any{"type": "payment", "id": rapid.String().Draw(t, "id")}, "requested_at": rapid.IntRange(0, 1<<50).Draw(t, "at")}
	for _, name := range []string{"subject", "action", "audience", "nonce", "idempotency_key"} {
		out[name] = rapid.String().Draw(t, name)
	}
	for name, value := range map[string]any{
		"actor": map[string]any{"type": "human", "id": "ada"}, "session": "ses_1",
		"context": map[string]any{"amount": rapid.Float64Range(-1e15, 1e15).Draw(t, "amount"), "to": rapid.String().Draw(t, "to"), "list": []any{nil, true, "x"}},
	} {
		switch rapid.SampledFrom([]string{"missing", "null", "given"}).Draw(t, name) {
		case "given":
			out[name] = value
		case "null":
			if name != "context" { // which is an object
				out[name] = nil
			}
		}
	}
	return out
}

func TestReadRequestRefusesWhatIsNoRequest(t *testing.T) {
	t.Parallel()
	for _, field := range []string{"subject", "action", "resource", "audience", "requested_at", "nonce", "idempotency_key", "actor", "session", "context"} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			body := map[string]any{
				"subject": "s", "action": "a", "resource": map[string]any{"type": "t", "id": "i"}, "audience": "u", "requested_at": 1.0, "nonce": "n",
				"idempotency_key": "k", "actor": map[string]any{"id": "x"}, "session": "ses_1", "context": map[string]any{},
			}
			_, ok := ReadRequest(body, "{}")
			require.True(t, ok)
			body[field] = 1.5
			_, ok = ReadRequest(body, "{}")
			require.False(t, ok)
		})
	}
}

// The escape of U+FFFD is the character itself, and not a sign of bytes that were replaced: a body is valid UTF-8.
func TestAContextMayHaveTheReplacementCharacter(t *testing.T) {
	t.Parallel()
	var sums [][]byte
	for _, context := range []string{`{"a":"\ufffd"}`, "{\"a\":\"\ufffd\"}"} {
		tree, err := strictjson.Decode([]byte(context), strictjson.Limits{})
		require.NoError(t, err)
		r := request{Request: Request{values: tree.(map[string]any), Context: json.RawMessage(context)}}
		require.NoError(t, r.digest())
		sums = append(sums, r.hash)
	}
	require.Equal(t, sums[0], sums[1])
}
