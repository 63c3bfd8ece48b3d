package displaytext

import (
	"strings"

	"golang.org/x/text/unicode/norm"
)

// spelled writes letters as languages spell them without their marks: German, Danish, Norwegian and Swedish type two letters in their place.
var spelled = strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "ß", "ss", "ø", "oe", "å", "aa", "Ä", "ae", "Ö", "oe", "Ü", "ue", "ẞ", "ss", "Ø", "oe", "Å", "aa")

// Typed is a text that a person types to find a text that is shown. Both "muller" and "mueller" find "Müller", and "müller" finds "Mueller".
type Typed struct {
	folded, spelled string
}

// Type returns the text to search for.
func Type(text string) Typed { return Typed{Fold(text), foldSpelled(text)} }

// Empty reports whether nothing is left of the text to search for.
func (t Typed) Empty() bool { return t.folded == "" }

// In reports whether a text that is shown contains the typed one.
func (t Typed) In(shown string) bool { return t.matches(shown, strings.Contains) }

// Begins reports whether a text that is shown begins with the typed one.
func (t Typed) Begins(shown string) bool { return t.matches(shown, strings.HasPrefix) }

func (t Typed) matches(shown string, has func(text, part string) bool) bool {
	if t.Empty() {
		return false
	}
	return has(Fold(shown), t.folded) || has(foldSpelled(shown), t.spelled)
}

func foldSpelled(text string) string { return Fold(spelled.Replace(norm.NFC.String(text))) }
