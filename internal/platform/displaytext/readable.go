package displaytext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/countersign-dev/countersign/internal/platform/canonical"
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

// isSign has the runes of signs.
var isSign = func() map[rune]bool {
	out := map[rune]bool{}
	for _, r := range signs {
		out[r] = true
	}
	return out
}()

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
	return strings.Join(characters(text), "")
}

// ReadableEnd returns the last n characters of a text as Readable shows them there.
func ReadableEnd(text string, n int) string {
	all := characters(text)
	return strings.Join(all[max(len(all)-n, 0):], "")
}

// characters returns each character of a text as Readable shows it.
func characters(text string) []string {
	var out []string
	whole := survey(text)
	for _, w := range words(text) {
		imitates := whole.imitates(w.text)
		marks := 0
		for i, r := range w.text {
			marks = stacked(r, marks)
			switch {
			case r == utf8.RuneError && !strings.HasPrefix(w.text[i:], string(utf8.RuneError)):
				out = append(out, fmt.Sprintf("[0x%02X]", w.text[i]))
			case unseen(r) && !whole.shaping[w.at+i], marks > maxMarks, whole.misread(r), imitates && (alike(r) || mixes(r)), r == dotless && !whole.turkic:
				out = append(out, fmt.Sprintf("[U+%04X]", r))
			default:
				out = append(out, string(r))
			}
		}
	}
	return out
}

// dotless is a letter of Turkish and its relatives, which has a dot in every other language.
const dotless = 'ı'

// turkicLetters show that a text is Turkish or Azerbaijani.
const turkicLetters = "çÇğĞİöÖşŞüÜəƏ"

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
	latin, twins int             // words in Latin letters, and words of twins alone
	plain, east  bool            // has ASCII letters or digits; has East Asian letters
	plainDigits  bool            // has ASCII digits
	telling      bool            // has letters of the twins' scripts that look like no Latin one
	turkic       bool            // has letters of Turkish besides the dotless i
	letters      bool            // has Latin letters
	whole        string          // the text
	scripts      map[string]bool // whether it has letters of a script, of those that were asked for
	digits       rune            // the zero of the first digits
}

func survey(s string) text {
	t := text{shaping: Shaping(s), whole: s, scripts: map[string]bool{}}
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
		t.plainDigits = t.plainDigits || r >= '0' && r <= '9'
		t.east = t.east || unicode.In(r, eastAsian...)
		t.turkic = t.turkic || strings.ContainsRune(turkicLetters, r)
		t.letters = t.letters || unicode.IsLetter(r) && isLatin(r)
		if t.digits == 0 && unicode.IsDigit(r) {
			t.digits = canonical.Zero(r)
		}
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
		return strings.ContainsFunc(w, alike) || strings.ContainsFunc(w, mixes)
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

// mixes reports letters of scripts that no orthography mixes with Latin letters in a word (UTS 39, section 5.2).
func mixes(r rune) bool {
	return unicode.IsLetter(r) && unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian) && r != 'µ'
}

// misread reports a character that could be read as one of ASCII in this text, whatever stands beside it.
func (t text) misread(r rune) bool {
	return t.compatibility(r) || always(r) || t.foreignDigit(r) || t.sign(r)
}

// scriptOf returns the name of the script of a letter, digit or sign. Digits and signs of Arabic texts belong to several scripts.
func scriptOf(r rune) string {
	if r >= 0x0600 && r <= 0x06FF {
		return "Arabic"
	}
	for name, table := range unicode.Scripts {
		if unicode.Is(table, r) {
			return name
		}
	}
	return ""
}

// writes reports whether the text has letters of a script.
func (t text) writes(script string) bool {
	if has, asked := t.scripts[script]; asked {
		return has
	}
	has := strings.ContainsFunc(t.whole, func(r rune) bool { return unicode.IsLetter(r) && unicode.Is(unicode.Scripts[script], r) })
	t.scripts[script] = has
	return has
}

// foreignDigit reports digits other than those of ASCII in a text that has others (UTS 39, section 5.3), or that is in Latin letters alone.
func (t text) foreignDigit(r rune) bool {
	if r < utf8.RuneSelf || !unicode.IsDigit(r) || r >= 0xFF10 && r <= 0xFF19 {
		return false
	}
	return t.digits != canonical.Zero(r) || t.plainDigits || t.letters && !t.writes(scriptOf(r))
}

// sign reports signs that look like ones of ASCII, except those of a script in a text with its letters.
func (t text) sign(r rune) bool {
	if !isSign[r] {
		return false
	}
	script := scriptOf(r)
	return script == "Common" || script == "Inherited" || !t.writes(script)
}

// formOf returns what a character is read as; empty if that is not known.
func formOf(r rune) string {
	for form, read := range readAs {
		if strings.ContainsRune(read, r) {
			return form
		}
	}
	return ""
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
	eastern := r >= 0xFF01 && r <= 0xFF5E || r >= 0xFE50 && r <= 0xFE6F // in any form, signs too
	if r < 0x100 || !eastern && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Nl, r) {
		return false
	}
	if (eastern || unicode.Is(unicode.Nl, r)) && (t.east || !t.plain) {
		return false
	}
	plain := norm.NFKC.String(string(r))
	if plain == string(r) {
		return false
	}
	if unicode.Is(unicode.Latin, r) && utf8.RuneCountInString(plain) > 1 {
		return strings.IndexFunc(plain, func(r rune) bool { return !unicode.IsLetter(r) }) < 0 // a ligature
	}
	return strings.IndexFunc(plain, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// rare reports whether a letter belongs to no script in everyday use.
func rare(r rune) bool { return unicode.IsLetter(r) && !unicode.In(r, recommended...) }
