package features

import "strings"

// keyGroups are the fingers (L, R: hand; P, R, M, I: pinky, ring, middle, index), space, backspace, shift and all other keys.
var keyGroups = []string{"LP", "LR", "LM", "LI", "RI", "RM", "RR", "RP", "SP", "BS", "SH", "OT"}

// coarseGroups are the hands, space, backspace, shift, punctuation and all other keys.
var coarseGroups = []string{"L", "R", "SP", "BS", "SH", "PU", "OT"}

// coarseClasses are the classes of transitions between two keys, such as the same finger or the other hand.
var coarseClasses = []string{
	"LLsamekey", "LLsamefinger", "same_L_adj", "same_L_far", "same_R_adj", "same_R_far", "alt_LR", "alt_RL",
	"L_SP", "R_SP", "SP_L", "SP_R", "let_BS", "BS_BS", "BS_let", "SH_let", "x_SH", "let_PU", "PU_x", "x_other",
}

// fineClasses are the coarse classes and every pair of fingers.
var fineClasses = append(append([]string{}, coarseClasses...),
	"LLsamefinger_rowchg", "same_L_adj_rowchg", "same_L_far_rowchg", "same_R_adj_rowchg", "same_R_far_rowchg",
	"alt_LR_rowchg", "alt_RL_rowchg")

// Indices into keyGroups of the groups with their own rules.
const (
	groupSpace     = 8
	groupBackspace = 9
	groupShift     = 10
	groupOther     = 11
)

// Indices into coarseClasses.
const (
	clSameKey = iota
	clSameFinger
	clSameLAdj
	clSameLFar
	clSameRAdj
	clSameRFar
	clAltLR
	clAltRL
	clLSpace
	clRSpace
	clSpaceL
	clSpaceR
	clToBackspace
	clBackspaceRun
	clFromBackspace
	clShiftLetter
	clToShift
	clLetterPunct
	clPunct
	clOther
)

// keyInfo describes a key for classification: finger, row, hand and kind.
type keyInfo struct {
	name  string
	group int
	// Keyboard row of letters and digits, -1 for others.
	row int
	// 0 left, 1 right, -1 neither.
	hand                int
	letter, punctuation bool
	capsLock            bool
}

// keyTable maps key names to their description.
var keyTable = buildKeys()

// keyAliases maps key names that occur in recordings to the names of the tables.
var keyAliases = map[string]string{
	"caps_lock": "capslock", "dash": "minus", "back_slash": "backslash", "open_bracket": "bracket_left",
	"close_bracket": "bracket_right", "back_quote": "backquote",
}

// buildKeys assigns every key of the tables its finger, row and hand on a QWERTY keyboard.
func buildKeys() map[string]keyInfo {
	fingers := []string{
		"q a z 1 backquote", "w s x 2", "e d c 3", "r f v t g b 4 5", "y h n u j m 6 7", "i k comma 8", "o l period 9",
		"p semicolon slash quote bracket_left bracket_right backslash 0 minus equals",
		"space", "backspace delete", "shift capslock",
	}
	rows := []string{"1234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm"}
	out := map[string]keyInfo{}
	for group, names := range fingers {
		for _, name := range strings.Fields(names) {
			out[name] = newKey(name, group, rows)
		}
	}
	for _, name := range tables.Codes {
		if _, ok := out[name]; !ok {
			out[name] = newKey(name, groupOther, rows)
		}
	}
	for alias, name := range keyAliases {
		out[alias] = out[name]
	}
	return out
}

// newKey derives hand, row and kind from a key's name and finger group.
func newKey(name string, group int, rows []string) keyInfo {
	k := keyInfo{name: name, group: group, row: -1, hand: -1, capsLock: name == "capslock"}
	if len(name) == 1 {
		for r, keys := range rows {
			if strings.Contains(keys, name) {
				k.row = r
			}
		}
		k.letter = name[0] >= 'a' && name[0] <= 'z'
	}
	switch {
	case group < 4:
		k.hand = 0
	case group < 8:
		k.hand = 1
	}
	k.punctuation = group < groupSpace && !k.letter
	return k
}

// lookupKey returns the description of a key; unknown keys are in the group OT.
func lookupKey(name string) keyInfo {
	if k, ok := keyTable[name]; ok {
		return k
	}
	return newKey("other", groupOther, nil)
}

func (k keyInfo) coarseGroup() int {
	switch {
	case k.letter:
		return k.hand
	case k.group == groupSpace:
		return 2
	case k.group == groupBackspace:
		return 3
	case k.group == groupShift:
		return 4
	case k.punctuation:
		return 5
	}
	return 6
}

// transition returns the coarse and the fine class of two consecutive keys. Later rules take precedence over earlier ones.
func transition(a, b keyInfo) (coarse, fine int) {
	coarse = clOther
	if a.letter && b.letter {
		coarse = letterPair(a, b)
		if coarse >= clSameFinger && coarse <= clAltRL && a.row != b.row {
			return coarse, len(coarseClasses) + coarse - clSameFinger
		}
		return coarse, coarse
	}
	switch {
	case a.letter && b.group == groupSpace:
		coarse = clLSpace + a.hand
	case a.group == groupSpace && b.letter:
		coarse = clSpaceL + b.hand
	}
	coarse = editPair(a, b, coarse)
	return coarse, coarse
}

// letterPair classifies two letters by hand, finger and row.
func letterPair(a, b keyInfo) int {
	if a.name == b.name {
		return clSameKey
	}
	if a.group == b.group {
		return clSameFinger
	}
	if a.hand != b.hand {
		return clAltLR + a.hand
	}
	far := 0
	if d := a.group - b.group; d > 1 || d < -1 {
		far = 1
	}
	return clSameLAdj + 2*a.hand + far
}

// editPair classifies pairs with space, backspace, shift, punctuation or a repeated key.
func editPair(a, b keyInfo, coarse int) int {
	bsA, bsB := a.group == groupBackspace, b.group == groupBackspace
	switch {
	case a.punctuation && !bsB && b.group != groupShift:
		return clPunct
	case a.letter && b.punctuation:
		return clLetterPunct
	case !bsA && b.group == groupShift:
		return clToShift
	case a.group == groupShift && b.letter:
		return clShiftLetter
	case bsA && !bsB:
		return clFromBackspace
	case bsA && bsB:
		return clBackspaceRun
	case bsB:
		return clToBackspace
	}
	return coarse
}

// KeyGroup returns the name of a key's group, as in the cells h:<group>.
func KeyGroup(name string) string { return keyGroups[lookupKey(name).group] }

// TransitionClass returns the name of the class of two consecutive keys, as in the cells p:<class> and r:<class>.
func TransitionClass(a, b string) string {
	_, fine := transition(lookupKey(a), lookupKey(b))
	return fineClasses[fine]
}
