package events

import "strings"

// Type names an event: a lower-case noun and a past participle, separated by a dot. Types are part of the contract and of
// stored events: never rename one.
type Type string

// Public reports whether the type appears in the activity list, on the stream and in webhooks.
func (t Type) Public() bool {
	d, ok := Lookup(t)
	return ok && d.Public
}

// Matches reports whether a webhook endpoint subscribed to the patterns receives the type. A pattern is a type, a noun followed
// by ".*" such as "hold.*", or "*". No patterns means every public type.
func Matches(patterns []string, t Type) bool {
	if len(patterns) == 0 {
		return true
	}
	for _, p := range patterns {
		if p == "*" || p == string(t) {
			return true
		}
		if prefix, ok := strings.CutSuffix(p, ".*"); ok && strings.HasPrefix(string(t), prefix+".") {
			return true
		}
	}
	return false
}

// KnownPattern reports whether the pattern matches at least one public type.
func KnownPattern(pattern string) bool {
	for _, d := range catalogue {
		if d.Public && Matches([]string{pattern}, d.Type) {
			return true
		}
	}
	return false
}
