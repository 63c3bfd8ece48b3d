package audit

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

// auditField is one field of an entry. Before is empty unless the entry or an earlier one says what it was.
type auditField struct {
	Name, Before, After string
	Changed             bool
}

// nothing stands for a value that is not set.
const nothing = "–"

// described says what the events of a type are.
func described(kind string) string {
	d, ok := events.Lookup(events.Type(kind))
	if !ok {
		return kind
	}
	sentence, _, _ := strings.Cut(d.Description, ":")
	sentence, _, _ = strings.Cut(sentence, ";")
	return strings.TrimSuffix(sentence, ".")
}

// eventTypes returns the types of all events by name.
func eventTypes() []string {
	var out []string
	for _, t := range events.Types() {
		out = append(out, string(t))
	}
	slices.Sort(out)
	return out
}

// whole are the types whose entries have the state after a change, with the field that names the record; empty for the environment. What it was
// before is in an earlier entry.
var whole = map[events.Type]string{events.EnvironmentUpdated: "", events.IdentityProviderChanged: "identity_provider", events.PersonNoticesChosen: "person"}

// states are the data of entries of the types of whole, newest first.
type states []state

type state struct {
	id, kind string
	data     map[string]any
}

// earlierStates reads the entries of the types of whole on a page, and those that precede the oldest of each type.
func (c *Pages) earlierStates(v *shell.Visit, links []audit.Link) (states, error) {
	var out states
	for kind := range whole {
		of := slices.DeleteFunc(slices.Clone(links), func(l audit.Link) bool { return l.Event.Type != string(kind) })
		if len(of) == 0 {
			continue
		}
		earlier, err := c.Reader.EarlierOfType(v.Context, v.Scope(), of[len(of)-1])
		if err != nil {
			return nil, err
		}
		for _, l := range append(of, earlier...) {
			data, err := events.Payload(*l.Event)
			if err != nil {
				return nil, err
			}
			out = append(out, state{l.Event.ID, l.Event.Type, data})
		}
	}
	return out, nil
}

// before returns the state of a record before an entry; nil if that is unknown. Entries of one type about different parts of a record have no
// field in common.
func (s states) before(id string) map[string]any {
	i := slices.IndexFunc(s, func(one state) bool { return one.id == id })
	if i < 0 {
		return nil
	}
	name := whole[events.Type(s[i].kind)]
	for _, old := range s[i+1:] {
		if old.id == id || old.kind != s[i].kind || name != "" && old.data[name] != s[i].data[name] {
			continue
		}
		for field := range old.data {
			if _, ok := s[i].data[field]; ok && field != "environment" {
				return old.data
			}
		}
	}
	return nil
}

// auditFields returns the fields of an entry, changed ones first. Digests of a document before and after are one field, and so are a value and
// what it was.
func auditFields(data, before map[string]any) []auditField {
	merged := maps.Clone(data)
	old := map[string]string{}
	for name, value := range data {
		if of, ok := strings.CutSuffix(name, "_before"); ok {
			delete(merged, name)
			old[of] = fieldText(of, value)
		}
	}
	if was, ok := data["before"]; ok {
		old["after"] = valueText(was)
		merged["after"] = data["after"]
		delete(merged, "before")
	}
	for name, was := range before {
		old[name] = fieldText(name, was)
		if _, ok := merged[name]; !ok {
			merged[name] = nil
		}
	}
	var out []auditField
	for _, name := range slices.Sorted(maps.Keys(merged)) {
		if name == "environment" {
			continue
		}
		f := auditField{Name: fieldLabel(name), After: fieldText(name, merged[name])}
		was, known := old[name]
		if f.Changed = known && was != f.After; f.Changed {
			f.Before = was
		}
		out = append(out, f)
	}
	slices.SortStableFunc(out, func(a, b auditField) int {
		if a.Changed == b.Changed {
			return 0
		}
		if a.Changed {
			return -1
		}
		return 1
	})
	return out
}

// digestLabel is the label of the digest of a document.
const digestLabel = "Digest of the content"

// fieldLabel names a field as the console's forms do.
func fieldLabel(name string) string {
	if name == "after" {
		return digestLabel
	}
	if s, ok := models.SettingNamed(name); ok {
		return s.Label
	}
	return show.Capital(show.Plain(name))
}

// fieldText formats the value of a field as the console's forms do.
func fieldText(name string, value any) string {
	text := valueText(value)
	if s, ok := models.SettingNamed(name); ok && s.Duration {
		if seconds, err := strconv.Atoi(text); err == nil {
			return show.Duration(seconds)
		}
	}
	return text
}

// valueText formats a value of an entry.
func valueText(value any) string {
	switch v := value.(type) {
	case nil:
		return nothing
	case bool:
		return map[bool]string{true: "yes", false: "no"}[v]
	case string:
		if v == "" {
			return nothing
		}
		return v
	case json.Number:
		return v.String()
	case []any:
		if len(v) == 0 {
			return nothing
		}
		items := make([]string, len(v))
		for i, one := range v {
			items[i] = valueText(one)
		}
		return strings.Join(items, ", ")
	default:
		return fmt.Sprint(v)
	}
}
