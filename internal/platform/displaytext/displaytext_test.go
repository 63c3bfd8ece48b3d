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
	require.Contains(t, problem.As(err).Fields[0].Msg, "rp_name must not contain control characters, line breaks or controls of text direction; found U+000D at position 5.")
}
