package canonical_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/platform/canonical"
)

// vector is one line of testdata/action_hash_vectors.json, which docs/proof.md publishes.
type vector struct {
	Name       string          `json:"name"`
	Document   json.RawMessage `json:"document"`
	Canonical  string          `json:"canonical"`
	ActionHash string          `json:"action_hash"`
}

// document is the JSON that a relying party writes down, decoded into the input of ActionHash.
type document struct {
	Action struct {
		Key           string `json:"key"`
		PolicyVersion int    `json:"policy_version"`
		ContentHash   string `json:"content_hash"`
	} `json:"action"`
	Subject     string           `json:"subject"`
	Actor       *canonical.Actor `json:"actor"`
	Resource    struct{ Type, ID string }
	Audience    string         `json:"audience"`
	Context     map[string]any `json:"context"`
	Nonce       string         `json:"nonce"`
	Environment string         `json:"environment"`
}

func (d document) input() canonical.ActionHashInput {
	return canonical.ActionHashInput{
		ActionKey: d.Action.Key, PolicyVersion: d.Action.PolicyVersion, ContentHash: d.Action.ContentHash,
		Subject: d.Subject, Actor: d.Actor, ResourceType: d.Resource.Type, ResourceID: d.Resource.ID,
		Audience: d.Audience, Context: d.Context, Nonce: d.Nonce, Environment: d.Environment,
	}
}

func vectors(t *testing.T) []vector {
	t.Helper()
	raw, err := os.ReadFile("testdata/action_hash_vectors.json")
	require.NoError(t, err)
	var out []vector
	require.NoError(t, json.Unmarshal(raw, &out))
	return out
}

// TestActionHashVectors holds three things equal: the Go input, the document a relying party builds, and the bytes.
func TestActionHashVectors(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, v := range vectors(t) {
		var d document
		require.NoError(t, json.Unmarshal(v.Document, &d), v.Name)
		got, err := canonical.ActionHash(d.input())
		require.NoError(t, err, v.Name)
		require.Equal(t, v.ActionHash, got, v.Name)

		form, err := canonical.JSON(v.Document)
		require.NoError(t, err, v.Name)
		require.Equal(t, v.Canonical, string(form), v.Name)
		require.Equal(t, v.ActionHash, canonical.DigestBytes([]byte(v.Canonical)), v.Name)
		require.False(t, seen[got], "%s repeats another vector's hash", v.Name)
		seen[got] = true
	}
	require.GreaterOrEqual(t, len(seen), 5)
}

// TestDocumentHoldsTheVectors holds docs/proof.md to the vectors.
func TestDocumentHoldsTheVectors(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../../docs/proof.md")
	require.NoError(t, err)
	doc := string(raw)
	for _, v := range vectors(t) {
		require.Contains(t, doc, fmt.Sprintf("### %s\n\n```\n%s\n%s\n```\n", v.Name, v.Canonical, v.ActionHash))
	}
	require.Equal(t, len(vectors(t)), strings.Count(doc, "\n### "), "the page shows every vector and no other")
}

func complete() canonical.ActionHashInput {
	return canonical.ActionHashInput{
		ActionKey: "payments.transfer", PolicyVersion: 1, ContentHash: "sha256:00", Subject: "user-1", ResourceType: "account",
		ResourceID: "acc_1", Audience: "bank.example", Nonce: "0123456789abcdef", Environment: "env_1",
		Actor: &canonical.Actor{Type: "human", ID: "user-1"}, Context: map[string]any{"amount": 1.0},
	}
}

// TestActionHashCoversEveryField changes each field in turn; with a hole in it, the input is refused.
func TestActionHashCoversEveryField(t *testing.T) {
	t.Parallel()
	base, err := canonical.ActionHash(complete())
	require.NoError(t, err)
	seen := map[string]bool{base: true}
	for name, change := range map[string]func(in *canonical.ActionHashInput, to string){
		"action key":    func(in *canonical.ActionHashInput, to string) { in.ActionKey = to },
		"content hash":  func(in *canonical.ActionHashInput, to string) { in.ContentHash = to },
		"subject":       func(in *canonical.ActionHashInput, to string) { in.Subject = to },
		"actor id":      func(in *canonical.ActionHashInput, to string) { in.Actor.ID = to },
		"actor type":    func(in *canonical.ActionHashInput, to string) { in.Actor.Type = to },
		"resource type": func(in *canonical.ActionHashInput, to string) { in.ResourceType = to },
		"resource id":   func(in *canonical.ActionHashInput, to string) { in.ResourceID = to },
		"audience":      func(in *canonical.ActionHashInput, to string) { in.Audience = to },
		"nonce":         func(in *canonical.ActionHashInput, to string) { in.Nonce = to },
		"environment":   func(in *canonical.ActionHashInput, to string) { in.Environment = to },
	} {
		in := complete()
		change(&in, "another")
		got, err := canonical.ActionHash(in)
		require.NoError(t, err, name)
		require.False(t, seen[got], name)
		seen[got] = true

		in = complete()
		change(&in, "")
		_, err = canonical.ActionHash(in)
		require.ErrorContains(t, err, strings.SplitN(name, " ", 2)[0], name)
	}
	for name, change := range map[string]func(in *canonical.ActionHashInput){
		"policy version":  func(in *canonical.ActionHashInput) { in.PolicyVersion = 2 },
		"no actor":        func(in *canonical.ActionHashInput) { in.Actor = nil },
		"empty context":   func(in *canonical.ActionHashInput) { in.Context = nil },
		"context value":   func(in *canonical.ActionHashInput) { in.Context = map[string]any{"amount": 2.0} },
		"context as text": func(in *canonical.ActionHashInput) { in.Context = map[string]any{"amount": "1"} },
		"context key":     func(in *canonical.ActionHashInput) { in.Context = map[string]any{"Amount": 1.0} },
	} {
		in := complete()
		change(&in)
		got, err := canonical.ActionHash(in)
		require.NoError(t, err, name)
		require.False(t, seen[got], name)
		seen[got] = true
	}
	in := complete()
	in.PolicyVersion = 0
	_, err = canonical.ActionHash(in)
	require.ErrorContains(t, err, "policy version")
	in = complete()
	in.Context = map[string]any{"amount": 1e300}
	_, err = canonical.ActionHash(in)
	require.ErrorIs(t, err, canonical.ErrUnsafeNumber)
}

func TestResourceAndContextDigest(t *testing.T) {
	t.Parallel()
	digest, err := canonical.ResourceDigest("account", "acc_1")
	require.NoError(t, err)
	require.Equal(t, canonical.DigestBytes([]byte(`{"id":"acc_1","type":"account"}`)), digest)
	none, err := canonical.ContextDigest(nil)
	require.NoError(t, err)
	require.Equal(t, canonical.DigestBytes([]byte(`{}`)), none)
	_, err = canonical.ContextDigest(map[string]any{"n": 1e300})
	require.Error(t, err)
}

// TestPropertyFieldsCannotFlowIntoEachOther moves a cut between two neighbouring fields.
func TestPropertyFieldsCannotFlowIntoEachOther(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-z"\\{},:]{3,12}`).Draw(t, "text")
		i, j := rapid.IntRange(1, len(text)-1).Draw(t, "i"), rapid.IntRange(1, len(text)-1).Draw(t, "j")
		a, b := complete(), complete()
		a.ResourceType, a.ResourceID = text[:i], text[i:]
		b.ResourceType, b.ResourceID = text[:j], text[j:]
		first, err := canonical.ActionHash(a)
		require.NoError(t, err)
		second, err := canonical.ActionHash(b)
		require.NoError(t, err)
		require.Equal(t, i == j, first == second)
	})
}

func BenchmarkActionHash(b *testing.B) {
	in := complete()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := canonical.ActionHash(in); err != nil {
			b.Fatal(err)
		}
	}
}
