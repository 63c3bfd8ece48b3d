package displaytext

import "unicode"

// blank are letters and marks that show nothing, though Unicode does not class them as format characters.
var blank = map[rune]bool{
	0x034F: true, 0x115F: true, 0x1160: true, 0x17B4: true, 0x17B5: true, 0x180B: true, 0x180C: true, 0x180D: true, 0x180F: true,
	0x2800: true, 0x3164: true, 0xFFA0: true, 0xFFFC: true, 0xFFFD: true,
}

// Unseen reports whether a character shows nothing of itself, though it may change how the rest is read: control, format
// and private characters, unassigned ones, and variation selectors other than the one of emoji.
func Unseen(r rune) bool {
	return blank[r] || !unicode.IsGraphic(r) || unicode.Is(unicode.Variation_Selector, r) && r != 0xFE0F
}
