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
		"Turkish": "Türkiye İş Bankası", "Turkish without more": "Şırnak Yapı", "Azerbaijani": "Kapital Bankı, Bakı şəhəri", "Hausa": "Ɓangaren Ƙasa", "French": "Cœur d’Œuvre", "Danish": "Ærø",
		"Arabic with digits": "حساب ٤٥٦", "Persian with digits": "کارت ۱۲۳۴", "Bengali with digits": "হিসাব ৪৫৬", "Hebrew with geresh": "צ׳ק בנק", "Arabic decimals": "١٢٫٥ دينار",
		"typography": "“Müller’s” – 3 × 5 … −7", "number sign": "№ 5", "Japanese with signs": "三菱：ＵＦＪ（銀行）", "micro": "5 µTorrent", "Devanagari digits": "खाता १२३", "hyphen between scripts": "T-Банк",
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

		"dotless i":                {"paypaı", "paypa[U+0131]"},
		"long s":                   {"ſtripe", "[U+017F]tripe"},
		"ligature":                 {"conﬁrm", "con[U+FB01]rm"},
		"ligature of two letters":  {"ǉeto", "[U+01C9]eto"},
		"small capitals":           {"ᴘᴀʏᴘᴀʟ", "[U+1D18][U+1D00][U+028F][U+1D18][U+1D00][U+029F]"},
		"script g":                 {"ɡoogle", "[U+0261]oogle"},
		"Arabic digits":            {"1٢3", "1[U+0662]3"},
		"Bengali digit":            {"DE৪9 3704", "DE[U+09EA]9 3704"},
		"digits beside Latin":      {"Pay ৪০০", "Pay [U+09EA][U+09E6][U+09E6]"},
		"two kinds of digits":      {"٤۴", "٤[U+06F4]"},
		"leader for a dot":         {"bank․com", "bank[U+2024]com"},
		"ratio for a colon":        {"10∶30", "10[U+2236]30"},
		"fraction slash":           {"bank.com⁄x", "bank.com[U+2044]x"},
		"division slash":           {"a∕b", "a[U+2215]b"},
		"Greek question mark":      {"a\u037eb", "a[U+037E]b"},
		"Hebrew colon":             {"10׃30", "10[U+05C3]30"},
		"small full stop":          {"bank﹒com", "bank[U+FE52]com"},
		"full width solidus":       {"bank.com／x", "bank.com[U+FF0F]x"},
		"operator for a letter":    {"∪BS", "[U+222A]BS"},
		"Cyrillic that is no twin": {"Bankж", "Bank[U+0436]"},
		"Roman numeral of three":   {"Louis Ⅲ", "Louis [U+2162]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, displaytext.Readable(c.text))
		})
	}
}

// The end of a text is marked as it is there, and not as it would be alone.
func TestReadableEndKnowsTheRestOfTheText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"1234567৪": "567[U+09EA]", "Иван Петров": "тров", "Pay РАУ": " [U+0420][U+0410][U+0423]", "ab": "ab", "": ""} {
		require.Equal(t, want, displaytext.ReadableEnd(text, 4))
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
