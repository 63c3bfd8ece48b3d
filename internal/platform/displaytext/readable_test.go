package displaytext_test

import (
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/displaytext"
)

func TestReadableLeavesOrdinaryTextAsItIs(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"Russian firm with a Latin word": "ООО РОСА LLC", "Russian firm": "ООО Роса и партнёры", "Russian": "Иван Петров", "Greek": "Νίκος Παπαδόπουλος",
		"two scripts in two words": "Bank Москва", "Persian": "می\u200cخواهم", "Persian plural": "خانه\u200cها", "Hindi": "क्\u200dष", "Hindi with nukta": "ज़्यादा ढूँढ़",
		"Sinhala": "ශ්\u200dරී", "family": "👨\u200d👩\u200d👧\u200d👦", "profession": "👩🏽\u200d💻 Bank", "rainbow flag": "🏳️\u200d🌈", "heart": "❤️", "keycap": "1️⃣",
		"flag of Scotland": "🏴\U000E0067\U000E0062\U000E0073\U000E0063\U000E0074\U000E007F", "flag": "🇨🇭",
		"Japanese bank": "三菱ＵＦＪ銀行", "Japanese net bank": "ＧＭＯあおぞらネット銀行", "full width alone": "ＭＵＦＧ", "half width kana": "ﾐﾂﾋﾞｼ", "variant of Han": "葛\U000E0100城",
		"Vietnamese": "Ngân hàng Việt Nam", "Thai": "ธนาคารที่", "Hebrew": "בנק", "Arabic": "بنك الاتحاد", "superscripts": "m² 1ª Nº 5™", "Chinese": "招商银行",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, text, displaytext.Readable(text))
		})
	}
}

func TestReadableMarksWhatIsMisread(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"Cherokee A":             {"\u13aa", "[U+13AA]"},
		"Cherokee C in a word":   {"\u13dfhase", "[U+13DF]hase"},
		"Cherokee word":          {"\u13df\u13aa", "[U+13DF][U+13AA]"},
		"Lisu":                   {"\ua4eemex", "[U+A4EE]mex"},
		"Roman numeral":          {"pa\u217c", "pa[U+217C]"},
		"Cyrillic word":          {"аррӏе", "[U+0430][U+0440][U+0440][U+04CF][U+0435]"},
		"Cyrillic in Latin":      {"P\u0430ypal", "P[U+0430]ypal"},
		"Cyrillic beside Latin":  {"рау Bank", "[U+0440][U+0430][U+0443] Bank"},
		"capitals beside Latin":  {"РАУ Bank", "[U+0420][U+0410][U+0423] Bank"},
		"Greek in Latin":         {"Αlder", "[U+0391]lder"},
		"phonetic a":             {"p\u0251ypal", "p[U+0251]ypal"},
		"mathematical":           {"𝐏ay", "[U+1D40F]ay"},
		"full width among plain": {"１0", "[U+FF11]0"},
		"direction":              {"Groß\u202e 052", "Groß[U+202E] 052"},
		"joiner in Latin":        {"ba\u200dnk", "ba[U+200D]nk"},
		"non-joiner in Latin":    {"ba\u200cnk", "ba[U+200C]nk"},
		"joiner at the end":      {"👩\u200d", "👩[U+200D]"},
		"non-joiner after alef":  {"ا\u200cب", "ا[U+200C]ب"},
		"selector after Latin":   {"a\ufe0f", "a[U+FE0F]"},
		"tags without a flag":    {"a\U000E0067\U000E007F", "a[U+E0067][U+E007F]"},
		"stacked marks":          {"Z\u0300\u0301\u0302\u0303", "Z\u0300\u0301[U+0302][U+0303]"},
		"not UTF-8":              {"a\xff", "a[0xFF]"},
		"line break":             {"a\nb", "a[U+000A]b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, displaytext.Readable(c.text))
		})
	}
}

// What Readable returns is UTF-8 without anything that Readable would mark, and a text without a fault has no invisible character marked.
func FuzzReadable(f *testing.F) {
	for _, text := range []string{"ООО РОСА LLC", "می\u200cخواهم", "👩\u200d💻", "a\u202eb\xff", "\u13aa\u217c", "Z\u0300\u0301\u0302"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		shown := displaytext.Readable(text)
		require.True(t, utf8.ValidString(shown))
		require.NotContains(t, shown, "\u202e")
		require.NotContains(t, shown, "\n")
		_ = displaytext.Fault(text)
	})
}
