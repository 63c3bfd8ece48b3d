package displaytext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

//go:generate go run ../../../tools/lookalikes

// twins are the letters of Cyrillic, Greek and Armenian that fonts draw exactly like Latin ones. A word of them alone can be read as a
// Latin word; with the further lookalikes of these scripts too many ordinary words could.
const twins = "аеорсухіѕјһԁԛԝӏАВЕІКМНОРСТУХЅЈҺԌԚԜӀ" + "αινορυϲϳΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹ" + "օսոցհԼՍՏՕ"

// recommended are the scripts in everyday use (UAX 31, table 5).
var recommended = []*unicode.RangeTable{
	unicode.Common, unicode.Inherited, unicode.Arabic, unicode.Armenian, unicode.Bengali, unicode.Bopomofo, unicode.Cyrillic, unicode.Devanagari,
	unicode.Ethiopic, unicode.Georgian, unicode.Greek, unicode.Gujarati, unicode.Gurmukhi, unicode.Han, unicode.Hangul, unicode.Hebrew,
	unicode.Hiragana, unicode.Kannada, unicode.Katakana, unicode.Khmer, unicode.Lao, unicode.Latin, unicode.Malayalam, unicode.Myanmar,
	unicode.Oriya, unicode.Sinhala, unicode.Tamil, unicode.Telugu, unicode.Thaana, unicode.Thai, unicode.Tibetan,
}

// eastAsian are the scripts whose texts write Latin letters and digits in full width.
var eastAsian = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo}

// lookalikeOf has the script of each lookalike.
var lookalikeOf = func() map[rune]string {
	out := map[rune]string{}
	for script, letters := range lookalikes {
		for _, r := range letters {
			out[r] = script
		}
	}
	return out
}()

// Readable replaces each character that could make a person read something else than what is there by its number, such as [U+202E]:
// controls, characters that show nothing, marks beyond two on one letter, compatibility forms of letters and digits, and letters that
// look like Latin ones where they could be taken for them (UTS 39). A byte that is not UTF-8 becomes its value, such as [0xFF].
func Readable(text string) string {
	var b strings.Builder
	whole := survey(text)
	for _, w := range words(text) {
		imitates := whole.imitates(w.text)
		marks := 0
		for i, r := range w.text {
			marks = stacked(r, marks)
			switch {
			case r == utf8.RuneError && !strings.HasPrefix(w.text[i:], string(utf8.RuneError)):
				fmt.Fprintf(&b, "[0x%02X]", w.text[i])
			case unseen(r) && !whole.shaping[w.at+i], marks > maxMarks, whole.compatibility(r), imitates && alike(r), always(r):
				fmt.Fprintf(&b, "[U+%04X]", r)
			default:
				b.WriteRune(r)
			}
		}
	}
	return b.String()
}

// maxMarks is how many marks one letter may have. Those that have a place of their own, such as vowels of Indic scripts, do not count.
const maxMarks = 2

// stacked returns how many marks are stacked with r, given those before it.
func stacked(r rune, before int) int {
	switch {
	case !unicode.IsMark(r):
		return 0
	case norm.NFD.PropertiesString(string(r)).CCC() == 0:
		return before
	default:
		return before + 1
	}
}

// word is a run of letters, or a run of everything else, and its place.
type word struct {
	text string
	at   int
}

func words(s string) []word {
	var out []word
	start, letters := 0, false
	for i, r := range s {
		if is := unicode.IsLetter(r) || unicode.IsMark(r); is != letters {
			if i > start {
				out = append(out, word{s[start:i], start})
			}
			start, letters = i, is
		}
	}
	return append(out, word{s[start:], start})
}

// text has the facts about a text that the judgement of each of its words needs.
type text struct {
	shaping      map[int]bool
	latin, twins int  // words in Latin letters, and words of twins alone
	plain, east  bool // has ASCII letters or digits; has East Asian letters
	telling      bool // has letters of the twins' scripts that look like no Latin one
}

func survey(s string) text {
	t := text{shaping: shaping(s)}
	for _, w := range words(s) {
		switch {
		case strings.ContainsFunc(w.text, isLatin):
			t.latin++
		case twinned(w.text):
			t.twins++
		}
	}
	for _, r := range s {
		t.plain = t.plain || r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r))
		t.east = t.east || unicode.In(r, eastAsian...)
		t.telling = t.telling || unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian) && !strings.ContainsRune(twins, r)
	}
	return t
}

// twinned reports whether a word consists of twins.
func twinned(w string) bool {
	return w != "" && strings.IndexFunc(w, func(r rune) bool { return !strings.ContainsRune(twins, r) }) < 0
}

// imitates reports whether a word could be read as a Latin one that it is not: it mixes Latin letters with lookalikes, or it consists of
// twins. A word of twins alone is left as it is in a text without Latin words that has other letters of its script, and, since in
// capitals many ordinary words are such, in capitals in a text that has more words of its script than Latin ones.
func (t text) imitates(w string) bool {
	if strings.ContainsFunc(w, isLatin) {
		return strings.ContainsFunc(w, alike)
	}
	if !twinned(w) || t.latin == 0 && t.telling {
		return false
	}
	return strings.ToUpper(w) != w || t.twins <= t.latin
}

// alike reports whether a letter of another script looks like one of ASCII.
func alike(r rune) bool {
	return lookalikeOf[r] != "" && !isLatin(r) || strings.ContainsRune(twins, r)
}

// always reports letters that look like ones of ASCII and that no text in everyday use has: those of rare scripts, and of phonetics.
func always(r rune) bool {
	script := lookalikeOf[r]
	return script == "Latin" || script != "" && !unicode.In(r, recommended...)
}

func isLatin(r rune) bool { return unicode.Is(unicode.Latin, r) && (r < 0xFF21 || r > 0xFF5A) }

// compatibility reports whether a letter or number is another form of a plain one, such as a mathematical bold A or the Roman numeral for
// fifty. Superscripts and the like in ordinary use (², ª, º, ™) stay, and so do forms in full width in East Asian texts and in texts
// that have no other.
func (t text) compatibility(r rune) bool {
	if r < 0x2000 || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Nl, r) {
		return false
	}
	if r >= 0xFF10 && r <= 0xFF5A && (t.east || !t.plain) {
		return false
	}
	plain := norm.NFKC.String(string(r))
	return plain != string(r) && utf8.RuneCountInString(plain) == 1 && plain[0] < utf8.RuneSelf
}

// rare reports whether a letter belongs to no script in everyday use.
func rare(r rune) bool { return unicode.IsLetter(r) && !unicode.In(r, recommended...) }
