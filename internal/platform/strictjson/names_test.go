package strictjson_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/strictjson"
)

type named struct {
	Subject string `json:"subject"`
	Key     *inner `json:"key"`
	List    []inner
	Map     map[string]inner `json:"map"`
	Free    map[string]any   `json:"free"`
	Raw     json.RawMessage  `json:"raw"`
	Hidden  string           `json:"-"`
	inner
}

type inner struct {
	Mask string `json:"mask"`
}

func TestNamesThatDifferInCaseOnlyAreRefused(t *testing.T) {
	t.Parallel()
	for text, loc := range map[string][]any{
		`{"Subject":"x"}`: {"Subject"}, `{"subject":"x","ſubject":"y"}`: {"ſubject"}, `{"SUBJECT":1}`: {"SUBJECT"}, `{"\u212aey":{}}`: {"\u212aey"},
		`{"key":{"maſk":"x"}}`: {"key", "maſk"}, `{"List":[{},{"Mask":""}]}`: {"List", 1, "Mask"}, `{"list":[]}`: {"list"}, `{"map":{"a":{"MASK":""}}}`: {"map", "a", "MASK"},
		`{"MASK":""}`: {"MASK"},
	} {
		var v named
		err := strictjson.Unmarshal([]byte(text), &v)
		var fault *strictjson.ValueError
		require.ErrorAs(t, err, &fault, text)
		require.Equal(t, strictjson.TypeAmbiguousKey, fault.Type, text)
		require.Equal(t, loc, fault.Loc, text)
		require.Empty(t, v, text)
	}
	for _, text := range []string{
		`{"subject":"x","key":{"mask":"y"},"other":1}`, `{"map":{"Mask":{},"mask":{},"maſk":{}}}`, `{"free":{"a":1,"A":2}}`, `{"raw":{"Subject":1,"subject":2}}`, `{"Hidden":"x"}`, `null`,
	} {
		var v, want named
		require.NoError(t, strictjson.Unmarshal([]byte(text), &v), text)
		require.NoError(t, json.Unmarshal([]byte(text), &want))
		require.Equal(t, want, v)
	}
	var v named
	require.Error(t, strictjson.Unmarshal([]byte(`{"subject":"a","subject":"b"}`), &v))
}

// FuzzNames compares with encoding/json: a document that is accepted is decoded from keys that are exactly names of fields.
func FuzzNames(f *testing.F) {
	for _, seed := range []string{
		`{"subject":"a","ſubject":"b"}`, `{"Key":{"mask":"x"}}`, `{"\u212aey":{"maſk":"x"}}`, `{"list":[{"MASK":"x"}]}`, `{"map":{"mask":{"mask":"x"}},"mask":"y"}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var got named
		if strictjson.Unmarshal([]byte(text), &got) != nil {
			return
		}
		tree, err := strictjson.Decode([]byte(text), strictjson.Limits{AnyFinite: true})
		require.NoError(t, err)
		exact, err := json.Marshal(onlyExact(tree))
		require.NoError(t, err)
		var want named
		require.NoError(t, json.Unmarshal(exact, &want))
		want.Raw, got.Raw = nil, nil
		require.Equal(t, want, got)
	})
}

// onlyExact removes the keys that encoding/json would find a field for by their case alone.
func onlyExact(tree any) any {
	object, ok := tree.(map[string]any)
	if !ok {
		return tree
	}
	for key := range object {
		for _, name := range []string{"subject", "key", "List", "map", "free", "raw", "mask"} {
			if key != name && strings.EqualFold(key, name) {
				delete(object, key)
			}
		}
	}
	return object
}
