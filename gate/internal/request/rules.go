package request

// Names of the normalisations. Each gives a request one meaning, or refuses it.
const (
	RuleAbsolute      = "absolute_form"
	RuleHost          = "host"
	RuleConnection    = "connection"
	RuleMethod        = "method"
	RuleCharacters    = "path_characters"
	RuleSeparator     = "encoded_separator"
	RuleDots          = "dot_segments"
	RuleEmpty         = "empty_segments"
	RuleParameters    = "path_parameters"
	RuleDouble        = "double_encoding"
	RuleControl       = "encoded_control"
	RuleUTF8          = "path_utf8"
	RuleCompatibility = "compatibility_characters"
	RuleSpelling      = "path_spelling"
	RuleLoose         = "loose_match"
	RuleNames         = "header_names"
	RuleOverride      = "method_override"
	RuleURLOverride   = "url_override"
	RuleUpgrade       = "upgrade"
	RuleSingle        = "header_duplicates"
	RuleOwn           = "countersign_headers"
	RuleTrailers      = "trailers"
	RuleQuery         = "query"
	RuleBody          = "body"
)

// removed is the rule that a build with the tag mutant leaves out; no other build can.
var removed string

// Enforced reports whether a rule is in force, which it is outside of the tests that remove one.
func Enforced(rule string) bool { return rule != removed }

// Refusal is a request that has more than one meaning. Rule is one of the constants above; Detail is a sentence for the sender.
type Refusal struct {
	Rule, Detail string
}

// Error returns the rule and the sentence.
func (r *Refusal) Error() string { return r.Rule + ": " + r.Detail }

// refuse returns a refusal if the condition holds and the rule is in force.
func refuse(broken bool, rule, detail string) error {
	if broken && Enforced(rule) {
		return &Refusal{rule, detail}
	}
	return nil
}
