package canonical_test

import (
	"crypto/sha256"
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/platform/canonical"
)

// reference is the hashed document of an action as encoding/json writes it.
func reference(in canonical.ActionHashInput) any {
	resource := map[string]string{"type": in.ResourceType, "id": in.ResourceID}
	context := in.Context
	if context == nil {
		context = map[string]any{}
	}
	return struct { // of a type that only encoding/json knows
		Version     string            `json:"v"`
		Action      map[string]any    `json:"action"`
		Subject     string            `json:"subject"`
		Actor       *canonical.Actor  `json:"actor"`
		Resource    map[string]string `json:"resource"`
		Audience    string            `json:"audience"`
		Context     map[string]any    `json:"context"`
		Nonce       string            `json:"nonce"`
		Environment string            `json:"environment"`
	}{
		"countersign.action.v1", map[string]any{"key": in.ActionKey, "policy_version": in.PolicyVersion, "content_hash": in.ContentHash},
		in.Subject, in.Actor, resource, in.Audience, context, in.Nonce, in.Environment,
	}
}

func TestPropertyActionHashIsThatOfTheDocument(t *testing.T) {
	t.Parallel()
	text := rapid.StringN(1, 12, -1)
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) string { return text.Draw(t, name) }
		in := canonical.ActionHashInput{
			ActionKey: draw("key"), PolicyVersion: rapid.IntRange(1, 1<<40).Draw(t, "version"), ContentHash: draw("content"), Subject: draw("subject"),
			ResourceType: draw("type"), ResourceID: draw("id"), Audience: draw("audience"), Nonce: draw("nonce"), Environment: draw("environment"),
			Context: rapid.MapOfN(rapid.String(), genValue(2), 0, 4).Draw(t, "context"),
		}
		if rapid.Bool().Draw(t, "has an actor") {
			in.Actor = &canonical.Actor{Type: draw("actor's type"), ID: draw("actor")}
		}
		if rapid.Bool().Draw(t, "has no context") {
			in.Context = nil
		}
		got, err := canonical.ActionHash(in)
		require.NoError(t, err)
		want, err := canonical.Digest(reference(in))
		require.NoError(t, err)
		require.Equal(t, want, got)
		got, err = canonical.ResourceDigest(in.ResourceType, in.ResourceID)
		require.NoError(t, err)
		want, err = canonical.Digest(struct {
			Type string `json:"type"`
			ID   string `json:"id"`
		}{in.ResourceType, in.ResourceID})
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

// A tree is written directly and its text by encoding/json: both have one form.
func TestPropertyTreesHaveTheFormOfTheirText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tree := genValue(3).Draw(t, "tree")
		raw, err := json.Marshal(tree)
		require.NoError(t, err)
		want, err := canonical.JSON(json.RawMessage(raw))
		require.NoError(t, err)
		got, err := canonical.JSON(tree)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
	})
}

func TestForm(t *testing.T) {
	t.Parallel()
	f := canonical.NewForm()
	defer f.Close()
	f.Raw(`{"a":`).Integer(-5).Raw(`,"b":`).Text("\"é\n").Raw(`,"c":`).Value([]any{map[string]any{"z": nil, "y": math.Copysign(0, -1)}, []int{1}}).Raw(`}`)
	sum, err := f.Sum()
	require.NoError(t, err)
	want := `{"a":-5,"b":"\"é\n","c":[{"y":0,"z":null},[1]]}`
	require.Equal(t, sha256.Sum256([]byte(want)), sum)
	digest, err := f.Digest()
	require.NoError(t, err)
	require.Equal(t, canonical.DigestBytes([]byte(want)), digest)
}

func TestFormRefuses(t *testing.T) {
	t.Parallel()
	endless := map[string]any{}
	endless["itself"] = endless
	for name, c := range map[string]struct {
		write func(f *canonical.Form)
		wraps error
	}{
		"bad UTF-8":           {func(f *canonical.Form) { f.Text("\xff") }, canonical.ErrInvalidUTF8},
		"a bad key":           {func(f *canonical.Form) { f.Value(map[string]any{"\xff": 1.0}) }, canonical.ErrInvalidUTF8},
		"a large integer":     {func(f *canonical.Form) { f.Integer(1 << 60) }, canonical.ErrUnsafeNumber},
		"a large number":      {func(f *canonical.Form) { f.Value([]any{1e300}) }, canonical.ErrUnsafeNumber},
		"no number":           {func(f *canonical.Form) { f.Value(math.NaN()) }, nil},
		"a value in itself":   {func(f *canonical.Form) { f.Value(endless) }, nil},
		"an unknown type":     {func(f *canonical.Form) { f.Value(make(chan int)) }, nil},
		"the first of faults": {func(f *canonical.Form) { f.Text("\xff").Integer(1 << 60) }, canonical.ErrInvalidUTF8},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := canonical.NewForm()
			defer f.Close()
			c.write(&f)
			_, err := f.Sum()
			require.ErrorContains(t, err, "canonical JSON: ")
			_, again := f.Digest()
			require.Equal(t, err, again)
			if c.wraps != nil {
				require.ErrorIs(t, err, c.wraps)
			}
		})
	}
}
