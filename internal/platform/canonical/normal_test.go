package canonical_test

import (
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/canonical"
)

// An account has one form however it is spelled, as people see one; punctuation makes a difference.
func TestNormalIsOneFormOfWhatLooksAlike(t *testing.T) {
	t.Parallel()
	const account = "NO93 8601 1117 947"
	for _, written := range []string{
		"no9386011117947", "NO93\u00a08601\u20091117\u3000947", "N\u00adO9386011117947", "NO9386011117947\u2800", "\U00013441NO93860\U0001d15911117947", "\ufeffNO9386011117947\ufe0f",
		"ＮＯ９３８６０１１１１７９４７", "NO93860\u034f11117947", "NO٩٣٨٦٠١١١١٧٩٤٧", "no९३८६०११११७९४७", "NO๙๓๘๖๐๑๑๑๑๗๙๔๗", "NO\u06f9\u06f386\u0e50\u0967111794\U0001e957", "NO\u277e\u2782\u24fc6\u24ff111\U00011052794\u2790", "\u202eNO9386011117947\u202c", "NO93860\U000e004111117947", "NO9386011117947\u3164", "NO9386011117947\x7f",
	} {
		require.Equal(t, canonical.Normal(account), canonical.Normal(written), "%+q", written)
	}
	for _, other := range []string{"NO93-8601-1117-947", "NO9386011117947.", "NО9386011117947", "NO9386011117946"} {
		require.NotEqual(t, canonical.Normal(account), canonical.Normal(other), "%+q", other)
	}
}

// A normal form is its own, and nothing invisible that is inserted changes it.
func FuzzNormal(f *testing.F) {
	for _, seed := range []string{"", "NO93 8601", "\u2800", "a\u0301", "Ꭰꭰ", "ﬁ", "İ", "ß", "\ufeffx", "𝟗", "٩", "❶", "1\u19da"} {
		f.Add(seed, 1)
	}
	f.Fuzz(func(t *testing.T, value string, at int) {
		if !utf8.ValidString(value) || len(value) > 256 {
			return
		}
		form := canonical.Normal(value)
		require.Equal(t, form, canonical.Normal(form))
		at = min(max(at, 0), len(value))
		for at > 0 && !utf8.RuneStart((value + "x")[at]) {
			at--
		}
		require.Equal(t, form, canonical.Normal(value[:at]+"\u2800"+value[at:]), "%+q", value)
	})
}
