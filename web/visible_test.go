package web_test

import (
	"html"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/platform/displaytext"
	"github.com/countersign-dev/countersign/web"
)

func TestVisible(t *testing.T) {
	t.Parallel()
	mark := func(number string) string {
		return `<span class="mark" title="invisible character">` + number + `</span>`
	}
	for name, tc := range map[string]struct{ text, want string }{
		"plain text":           {"Pay 1 000 € to Żółw & Söhne", "Pay 1\u00a0000 € to Żółw &amp; Söhne"},
		"markup":               {`<script>alert("x")</script>`, `&lt;script&gt;alert(&#34;x&#34;)&lt;/script&gt;`},
		"right-to-left script": {"שלום", "שלום"},
		"emoji":                {"❤️", "❤️"},
		"override":             {"pay \u202e0001", "pay " + mark("U+202E") + "0001"},
		"isolate":              {"\u2066x\u2069", mark("U+2066") + "x" + mark("U+2069")},
		"zero width":           {"Al\u200bder\ufeff", "Al" + mark("U+200B") + "der" + mark("U+FEFF")},
		"joiner":               {"a\u200db", "a" + mark("U+200D") + "b"},
		"Persian":              {"می\u200cخواهم", "می\u200cخواهم"},
		"Hindi":                {"क्\u200dष", "क्\u200dष"},
		"joined emoji":         {"👩\u200d💻", "👩\u200d💻"},
		"soft hyphen":          {"a\u00adb", "a" + mark("U+00AD") + "b"},
		"filler":               {"a\u3164b\u2800", "a" + mark("U+3164") + "b" + mark("U+2800")},
		"control":              {"a\x00b\x1b\r\n", "a" + mark("U+0000") + "b" + mark("U+001B") + mark("U+000D") + mark("U+000A")},
		"line separator":       {"a\u2028b", "a" + mark("U+2028") + "b"},
		"tag letters":          {"a\U000E0041", "a" + mark("U+E0041")},
		"private use":          {"\ue000", mark("U+E000")},
		"not UTF-8":            {"a\xffb", "a" + mark("0xFF") + "b"},
		"imitated mark":        {`<span class="mark">U+202E</span>`, `&lt;span class=&#34;mark&#34;&gt;U+202E&lt;/span&gt;`},
		"nothing":              {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, "<bdi>"+strings.ReplaceAll(tc.want, "1\u00a0000", "1 000")+"</bdi>", strings.ReplaceAll(string(web.Visible(tc.text)), "\u00a0", " "))
		})
	}
}

// For any text, no invisible character and no foreign markup remain, and all visible characters remain in order.
func TestVisibleMarksEveryInvisibleCharacter(t *testing.T) {
	t.Parallel()
	marks := regexp.MustCompile(`<span class="mark" title="invisible character">[0-9A-FUx+]+</span>`)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		got := string(web.Visible(text))
		inner := strings.TrimSuffix(strings.TrimPrefix(got, "<bdi>"), "</bdi>")
		rest := marks.ReplaceAllString(inner, "")
		require.NotContains(t, rest, "<")
		shapes := displaytext.Shaping(html.UnescapeString(rest)) // joiners that a script or an emoji needs stay
		for at, r := range html.UnescapeString(rest) {
			require.True(t, unicode.IsGraphic(r) || shapes[at], "%U is left in %q", r, got)
		}
		var seen strings.Builder
		for _, r := range html.UnescapeString(rest) {
			seen.WriteRune(r)
		}
		require.Equal(t, strings.Map(graphic, text), strings.Map(graphic, seen.String()))
	})
}

// graphic keeps letters, digits and punctuation that are undoubtedly visible.
func graphic(r rune) rune {
	if r < 0x2800 && unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Nd, unicode.P) {
		return r
	}
	return -1
}
