package displaytext_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/displaytext"
	"github.com/countersign-dev/countersign/internal/platform/problem"
)

func TestFaultNamesTheCharacter(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"line feed":         {"Alder\nBank", "U+000A at position 5"},
		"carriage return":   {"Ålder\r\nBank", "U+000D at position 5"},
		"null":              {"\x00", "U+0000 at position 0"},
		"C1 next line":      {"a\u0085", "U+0085 at position 1"},
		"right-to-left":     {"a\u202eb", "U+202E at position 1"},
		"isolate":           {"\u2066a", "U+2066 at position 0"},
		"arabic mark":       {"\u061c", "U+061C at position 0"},
		"line separator":    {"a\u2028b", "U+2028 at position 1"},
		"not UTF-8":         {"a\xff", "byte 0xFF at position 1, which is not UTF-8"},
		"plain":             {"Müller & Söhne <Bank>", ""},
		"arabic":            {"بنك", ""},
		"joined emoji":      {"👩\u200d💻 Bank", ""},
		"zero width":        {"a\u200bb", "U+200B at position 1"},
		"a joiner in Latin": {"ba\u200dnk", "U+200D at position 2"},
		"a filler":          {"a\u3164", "U+3164 at position 1"},
		"private":           {"\ue000", "U+E000 at position 0"},
		"stacked marks":     {"Z\u0300\u0301\u0302", "U+0302 at position 3"},
		"a rare script":     {"\u13aa", "U+13AA at position 0 (\u13aa), which is read as A: write A"},
		"two scripts":       {"P\u0430ypal", "U+0430 at position 1 (\u0430), which is read as a: write a"},
		"a long s":          {"ſtripe", "U+017F at position 0 (ſ), which is read as s: write s"},
		"a ligature":        {"oﬃce", "U+FB03 at position 1 (ﬃ), which is read as ffi: write ffi"},
		"another dot":       {"bank․com", "U+2024 at position 4 (․), which is read as .: write ."},
		"mixed digits":      {"Bank 1২", "U+09E8 at position 6 (২), which does not belong to the letters beside it"},
		"mixed scripts":     {"Bankж", "U+0436 at position 4 (ж), which does not belong to the letters beside it"},
		"Turkish":           {"Halk Bankası", ""},
		"Persian":           {"می\u200cخواهم", ""},
		"Hindi":             {"क्\u200dष", ""},
		"Vietnamese":        {"Ngân hàng Việt", ""},
		"Russian":           {"ООО РОСА LLC", ""},
		"replacement typed": {"a\uFFFD", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, displaytext.Fault(c.text))
		})
	}
}

func TestCheckNamesTheField(t *testing.T) {
	t.Parallel()
	require.NoError(t, displaytext.Check("rp_name", "Alder Bank"))
	err := displaytext.Check("rp_name", "Alder\r\nBank")
	require.True(t, problem.Is(err, problem.Unprocessable), "%v", err)
	require.Equal(t, []any{"body", "rp_name"}, problem.As(err).Fields[0].Loc)
	require.Contains(t, problem.As(err).Fields[0].Msg, "rp_name must not contain control characters, line breaks, controls of text direction or characters that are easily misread; found U+000D at position 5.")
}

func TestCheckLinesPermitsLineBreaksOnly(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "one", "one\ntwo", "one\r\ntwo\r\n", "\n\n"} {
		require.NoError(t, displaytext.CheckLines("note", text), text)
	}
	for _, text := range []string{"a\u202eb", "a\nb\u2066c", "a\rb", "a\u2028b", "a\u0085b", "a\x00b", "p\u0430ypal", "a\vb"} {
		require.Error(t, displaytext.CheckLines("note", text), "%q", text)
	}
}
