package policies

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/rules"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web/console/show"
)

// Difference compares one part of two documents line by line.
type Difference struct {
	Field string
	State show.Tag // added, removed or changed; empty if both are equal
	Lines []diffLine
}

// diffLine is a line of one document or of both.
type diffLine struct {
	Kind  string // "", removed or added
	Parts []diffPart
}

// diffPart is a part of a line. Changed marks the words that differ from those of the line that it replaces.
type diffPart struct {
	Text    string
	Changed bool
}

// Changed reports whether the documents differ in the part.
func (d Difference) Changed() bool { return d.State.Text != "" }

// compared returns the differences of the parts of two documents, in the order of the fields.
func compared(before, after map[string][]string) []Difference {
	names := maps.Clone(before)
	maps.Copy(names, after)
	var out []Difference
	for _, name := range slices.SortedFunc(maps.Keys(names), compareFields) {
		old, fresh := before[name], after[name]
		d := Difference{Field: name, Lines: lineByLine(old, fresh)}
		switch {
		case slices.Equal(old, fresh):
		case len(old) == 0:
			d.State = show.Tag{Text: "added", Tone: "good"}
		case len(fresh) == 0:
			d.State = show.Tag{Text: "removed", Tone: "bad"}
		default:
			d.State = show.Tag{Text: "changed", Tone: "warn"}
		}
		out = append(out, d)
	}
	return out
}

// fieldOrder is the display order of a policy's fields, by their first word. Other fields follow by name.
var fieldOrder = []string{
	"rule", "coverage_min", "freshness_max_ms", "insufficient_evidence", "claims", "explicit_approval_required", "challenge_methods",
	"challenge_compensates", "passkey_aaguids", "max_challenges", "deny_on", "hold_on", "approvals_required", "self_review",
	"approval_compensates", "hours", "review", "context",
}

func compareFields(a, b string) int {
	rank := func(name string) int {
		head, _, _ := strings.Cut(strings.ReplaceAll(name, ".", " "), " ")
		if i := slices.Index(fieldOrder, head); i >= 0 {
			return i
		}
		return len(fieldOrder)
	}
	if d := rank(a) - rank(b); d != 0 {
		return d
	}
	return strings.Compare(a, b)
}

// Differences compares two versions. Each rule and each property of the context is a part of its own.
func Differences(before, after models.PolicyVersion) ([]Difference, error) {
	old, err := linesOf(before)
	if err != nil {
		return nil, err
	}
	fresh, err := linesOf(after)
	return compared(old, fresh), err
}

// linesOf returns the parts of a version as people read them. An empty version, which stands for none, has none.
func linesOf(p models.PolicyVersion) (map[string][]string, error) {
	out := map[string][]string{}
	if p.ContentHash == "" {
		return out, nil
	}
	var requirements, schema map[string]any
	if err := json.Unmarshal(p.Requirements, &requirements); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(p.ContextSchema, &schema); err != nil {
		return nil, err
	}
	var listed struct{ Rules []policy.Rule }
	if err := json.Unmarshal(p.Requirements, &listed); err != nil {
		return nil, err
	}
	delete(requirements, "rules")
	for _, r := range listed.Rules {
		out["rule "+r.Name] = ruleLines(r)
	}
	for name, value := range requirements {
		if parts, ok := value.(map[string]any); ok {
			for key, part := range parts {
				out[name+" "+key] = valueLines(part)
			}
			continue
		}
		out[name] = valueLines(value)
	}
	out["allowed_audiences"], out["allowed_callers"] = p.AllowedAudiences, p.AllowedCallers
	out["proof_ttl_seconds"] = []string{strconv.Itoa(p.ProofTTLSeconds)}
	schemaLines(out, "context", schema, false)
	return out, nil
}

func ruleLines(r policy.Rule) []string {
	out := strings.Split(rules.Format(r.When), "\n")
	out = append(out, requiredLines(r.Requirements)...)
	if r.Reserve {
		out = append(out, "reserve")
	}
	return append(out, "reason: "+r.Reason)
}

// requiredLines returns the requirements of a rule, one on each line.
func requiredLines(s policy.Stricter) []string {
	raw, err := json.Marshal(s)
	var fields map[string]any
	if err != nil || json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	var out []string
	for _, name := range slices.SortedFunc(maps.Keys(fields), compareFields) {
		out = append(out, name+": "+strings.Join(valueLines(fields[name]), ", "))
	}
	return out
}

// schemaLines adds the properties of a schema by their paths, and what else the schema says under its own.
func schemaLines(to map[string][]string, path string, schema map[string]any, required bool) {
	must, _ := schema["required"].([]any)
	properties, _ := schema["properties"].(map[string]any)
	var lines []string
	if required {
		lines = append(lines, "required")
	}
	for _, name := range slices.Sorted(maps.Keys(schema)) {
		if name != "properties" && name != "required" {
			lines = append(lines, name+": "+show.Text(schema[name]))
		}
	}
	to[path] = lines
	for name, below := range properties {
		if below, ok := below.(map[string]any); ok {
			schemaLines(to, path+"."+name, below, slices.Contains(must, any(name)))
		}
	}
}

// valueLines returns a value of JSON, a list with one item on each line.
func valueLines(v any) []string {
	list, ok := v.([]any)
	if !ok {
		return strings.Split(show.Text(v), "\n")
	}
	out := []string{}
	for _, item := range list {
		out = append(out, show.Text(item))
	}
	return out
}

// ChangedFields compares the fields of a change request.
func ChangedFields(all []change.Difference) []Difference {
	before, after := map[string][]string{}, map[string][]string{}
	for _, d := range all {
		before[d.Field], after[d.Field] = FieldLines(d.Before), FieldLines(d.After)
	}
	return compared(before, after)
}

// FieldLines returns a JSON value for a page: null as nothing, and an empty string with its quotes, because it is a value.
func FieldLines(raw json.RawMessage) []string {
	var v any
	if json.Unmarshal(raw, &v) != nil || v == nil {
		return nil
	}
	switch v := v.(type) {
	case map[string]any:
		return strings.Split(show.Indented(raw), "\n")
	case string:
		if v == "" {
			return []string{`""`}
		}
	}
	return valueLines(v)
}

// lineByLine compares two texts. A removed line is followed by the line that replaces it.
func lineByLine(before, after []string) []diffLine {
	var out []diffLine
	for _, e := range edits(before, after) {
		n := max(len(e.removed), len(e.added))
		for i := range n {
			switch {
			case i >= len(e.added):
				out = append(out, diffLine{"removed", []diffPart{{Text: e.removed[i]}}})
			case i >= len(e.removed):
				out = append(out, diffLine{"added", []diffPart{{Text: e.added[i]}}})
			default:
				old, fresh := wordByWord(e.removed[i], e.added[i])
				out = append(out, diffLine{"removed", old}, diffLine{"added", fresh})
			}
		}
		if e.same != nil {
			out = append(out, diffLine{"", []diffPart{{Text: *e.same}}})
		}
	}
	return out
}

// word is a word, white space or another character.
var word = regexp.MustCompile(`[\p{L}\p{N}_.]+|\s+|.`)

// wordByWord marks the words of two lines that are not in both.
func wordByWord(before, after string) (old, fresh []diffPart) {
	for _, e := range edits(word.FindAllString(before, -1), word.FindAllString(after, -1)) {
		old, fresh = withPart(old, strings.Join(e.removed, ""), true), withPart(fresh, strings.Join(e.added, ""), true)
		if e.same != nil {
			old, fresh = withPart(old, *e.same, false), withPart(fresh, *e.same, false)
		}
	}
	return old, fresh
}

func withPart(to []diffPart, text string, changed bool) []diffPart {
	if n := len(to); n > 0 && to[n-1].Changed == changed {
		to[n-1].Text += text
		return to
	}
	if text == "" {
		return to
	}
	return append(to, diffPart{text, changed})
}

// edit removes and adds items before one that both lists have; same is nil at the end.
type edit struct {
	removed, added []string
	same           *string
}

// mostCompared is how many pairs of items are compared; longer lists are replaced as a whole.
const mostCompared = 1 << 22

// edits returns the edits that turn one list into another, by their longest common subsequence.
func edits(before, after []string) []edit {
	if len(before)*len(after) > mostCompared {
		return []edit{{removed: before, added: after}}
	}
	// common[i][j] is the length of the longest common subsequence of before[i:] and after[j:].
	common := make([][]int, len(before)+1)
	for i := range common {
		common[i] = make([]int, len(after)+1)
	}
	for i := len(before) - 1; i >= 0; i-- {
		for j := len(after) - 1; j >= 0; j-- {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); before[i] == after[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	out, i, j := []edit{{}}, 0, 0
	for i < len(before) || j < len(after) {
		last := &out[len(out)-1]
		switch {
		case i < len(before) && j < len(after) && before[i] == after[j]:
			last.same = &before[i]
			out = append(out, edit{})
			i, j = i+1, j+1
		case j == len(after) || i < len(before) && common[i+1][j] >= common[i][j+1]:
			last.removed = append(last.removed, before[i])
			i++
		default:
			last.added = append(last.added, after[j])
			j++
		}
	}
	return out
}
