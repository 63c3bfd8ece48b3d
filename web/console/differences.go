package console

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/models"
)

// difference compares one field of a policy in two versions.
type difference struct {
	Field, Before, After string
	Changed              bool
	Added, Removed       []string // if List
	List                 bool
}

// fieldOrder is the display order of a policy's fields. Other fields follow by name.
var fieldOrder = []string{
	"coverage_min", "freshness_max_ms", "insufficient_evidence", "claims", "explicit_approval_required", "challenge_methods",
	"challenge_compensates", "passkey_aaguids", "max_challenges", "deny_on", "hold_on", "approvals_required", "self_review",
	"approval_compensates", "review",
}

// differences compares two versions field by field.
func differences(before, after models.PolicyVersion) ([]difference, error) {
	old, err := fields(before)
	if err != nil {
		return nil, err
	}
	young, err := fields(after)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for name := range old {
		names[name] = true
	}
	for name := range young {
		names[name] = true
	}
	var out []difference
	for _, name := range ordered(names) {
		d := difference{Field: name, Before: words(old[name]), After: words(young[name])}
		d.Changed = d.Before != d.After
		if was, ok := old[name].([]string); ok {
			is, _ := young[name].([]string)
			d.List, d.Added, d.Removed = true, missing(is, was), missing(was, is)
		}
		out = append(out, d)
	}
	return out, nil
}

func ordered(names map[string]bool) []string {
	out := make([]string, 0, len(names))
	for name := range names {
		out = append(out, name)
	}
	rank := func(name string) int {
		head, _, _ := strings.Cut(name, " ")
		if i := slices.Index(fieldOrder, head); i >= 0 {
			return i
		}
		return len(fieldOrder)
	}
	slices.SortFunc(out, func(a, b string) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return out
}

// missing returns the words of a that are not in b.
func missing(a, b []string) []string {
	var out []string
	for _, w := range a {
		if !slices.Contains(b, w) {
			out = append(out, w)
		}
	}
	return out
}

// fields returns the settings of a version by name. Values are a string or a []string.
func fields(p models.PolicyVersion) (map[string]any, error) {
	var raw map[string]any
	if err := json.Unmarshal(p.Requirements, &raw); err != nil {
		return nil, err
	}
	out := map[string]any{}
	for name, value := range raw {
		switch value := value.(type) {
		case map[string]any:
			for key, v := range value {
				out[name+" "+key] = text(v)
			}
		case []any:
			list := make([]string, len(value))
			for i, v := range value {
				list[i] = text(v)
			}
			out[name] = list
		default:
			out[name] = text(value)
		}
	}
	if p.ContentHash == "" {
		return out, nil // the empty version that stands for "no version to compare with"
	}
	out["allowed audiences"], out["allowed callers"] = []string(p.AllowedAudiences), []string(p.AllowedCallers)
	out["proof lifetime (seconds)"] = itoa(p.ProofTTLSeconds)
	out["context schema"] = indented(json.RawMessage(p.ContextSchema))
	return out, nil
}

func text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}

func words(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []string:
		if len(v) == 0 {
			return "none"
		}
		return strings.Join(v, ", ")
	default:
		return ""
	}
}
