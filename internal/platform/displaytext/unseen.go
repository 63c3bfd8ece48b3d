package displaytext

import (
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"
)

// blank are letters and marks that show nothing, though Unicode does not class them as format characters.
var blank = map[rune]bool{
	0x034F: true, 0x115F: true, 0x1160: true, 0x17B4: true, 0x17B5: true, 0x180B: true, 0x180C: true, 0x180D: true, 0x180F: true,
	0x2800: true, 0x3164: true, 0xFFA0: true, 0xFFFC: true, 0xFFFD: true,
}

const (
	nonJoiner = 0x200C
	joiner    = 0x200D
	blackFlag = 0x1F3F4
	tagEnd    = 0xE007F
)

// unseen reports whether a character shows nothing of itself, though it may change how the rest is read: control, format and private
// characters, unassigned ones, and variation selectors.
func unseen(r rune) bool {
	return blank[r] || !unicode.IsGraphic(r) || unicode.Is(unicode.Variation_Selector, r)
}

// Shaping returns the places of characters that show nothing but give those beside them their form, as their script or an emoji needs it:
// joiners (UTS 39, section 3.1.1), variation selectors, and the tags of flags.
func Shaping(text string) map[int]bool {
	out := map[int]bool{}
	at, state := 0, -1
	for rest := text; rest != ""; {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		first, _ := utf8.DecodeRuneInString(cluster)
		last, _ := utf8.DecodeLastRuneInString(cluster)
		before := rune(0)
		for i, r := range cluster {
			switch {
			case r == joiner && !unicode.IsLetter(first):
				out[at+i] = i > 0 && i+utf8.RuneLen(r) < len(cluster) // between two pictures
			case r == joiner, r == nonJoiner:
				out[at+i] = joins(text, at+i)
			case r == 0xFE0E, r == 0xFE0F:
				out[at+i] = i > 0 && !unicode.IsLetter(before)
			case unicode.Is(unicode.Variation_Selector, r):
				out[at+i] = unicode.Is(unicode.Han, before)
			case r > 0xE001F && r <= tagEnd:
				out[at+i] = first == blackFlag && last == tagEnd
			}
			before = r
		}
		at += len(cluster)
	}
	return out
}

// joiners knows where a script needs a joiner (RFC 5892, appendix A).
var joiners = idna.New(idna.ValidateLabels(true), idna.CheckJoiners(true), idna.CheckHyphens(false), idna.StrictDomainName(false))

// joins reports whether the letters around a joiner need it.
func joins(text string, at int) bool {
	letter := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsMark(r) }
	start, end := at, at+3 // both joiners have three bytes
	for start > 0 {
		r, size := utf8.DecodeLastRuneInString(text[:start])
		if !letter(r) {
			break
		}
		start -= size
	}
	for end < len(text) {
		r, size := utf8.DecodeRuneInString(text[end:])
		if !letter(r) {
			break
		}
		end += size
	}
	_, err := joiners.ToUnicode(norm.NFC.String(text[start:end]))
	return err == nil && start < at
}
