package lists

import (
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/rules"
	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/models"
)

// Lookup has the questions that one decision asks of lists, in one statement however many there are (QueueLookup).
type Lookup struct {
	questions []question
	lists     []string // with keys, the rows that the statement reads
	keys      []string
	found     map[string]found // by list
}

// question is one value that is looked up in one list.
type question struct {
	rules.Listed
	list string   // id
	keys []string // of entries that have the value, the longest first
}

// found has the version of one list and those of its entries that were asked for.
type found struct {
	version int
	entries map[string]string // ids by key
}

// Lookup prepares the questions that rules ask. lists are those of the policy by name; a question about any other stays open.
func (v Vault) Lookup(lists map[string]models.List, asked []rules.Listed) (*Lookup, error) {
	out := &Lookup{found: map[string]found{}}
	for _, a := range asked {
		l, ok := lists[a.List]
		if !ok {
			continue
		}
		keys, err := v.entryKeys(l, a.Value)
		if err != nil {
			return nil, err
		}
		out.questions = append(out.questions, question{a, l.ID, keys})
		// No entry has an empty key: it finds the version of the list, whatever the value is.
		for _, key := range append(keys, "") {
			out.lists, out.keys = append(out.lists, l.ID), append(out.keys, key)
		}
	}
	return out, nil
}

// Empty reports whether nothing is asked.
func (l *Lookup) Empty() bool { return l == nil || len(l.questions) == 0 }

// Results returns whether each list has each value. A list that was not found has no result.
func (l *Lookup) Results() map[rules.Listed]bool {
	out := map[rules.Listed]bool{}
	if l == nil {
		return out
	}
	for _, q := range l.questions {
		if f, ok := l.found[q.list]; ok {
			out[q.Listed] = f.entry(q.keys) != ""
		}
	}
	return out
}

// Reads returns what the decision read of each list, for its explanation, in the order of the questions. It has no values.
func (l *Lookup) Reads() []policy.ListRead {
	var out []policy.ListRead
	if l == nil {
		return nil
	}
	for _, q := range l.questions {
		f, ok := l.found[q.list]
		if !ok {
			continue
		}
		i := slices.IndexFunc(out, func(r policy.ListRead) bool { return r.Name == q.List })
		if i < 0 {
			i = len(out)
			out = append(out, policy.ListRead{Name: q.List, Version: f.version})
		}
		if id := f.entry(q.keys); id != "" && !slices.Contains(out[i].Entries, id) {
			out[i].Entries = append(out[i].Entries, id)
		}
	}
	return out
}

// entry returns the id of the entry with the first of the keys that there is; empty if there is none.
func (f found) entry(keys []string) string {
	for _, key := range keys {
		if id, ok := f.entries[key]; ok {
			return id
		}
	}
	return ""
}

// Memory looks questions up in lists that are not stored, for tests of a policy without a service. Its entries are named by their
// values.
func Memory(all map[string]Sample, asked []rules.Listed) (map[rules.Listed]bool, []policy.ListRead) {
	l := &Lookup{found: map[string]found{}}
	for name, sample := range all {
		entries := map[string]string{}
		for _, value := range sample.Entries {
			entries[canonical.Normal(value)] = value
		}
		l.found[name] = found{version: 1, entries: entries}
	}
	for _, a := range asked {
		l.questions = append(l.questions, question{a, a.List, forms(all[a.List].Kind, a.Value)})
	}
	return l.Results(), l.Reads()
}

// Sample is a list that is not stored.
type Sample struct {
	Kind    models.ListKind `yaml:"kind"`
	Entries []string        `yaml:"entries"`
}

// Check refuses a list that the service would refuse.
func (s Sample) Check(name string) error {
	if err := (Draft{Name: name, Kind: s.Kind}).check(); err != nil {
		return err
	}
	var faults []string
	for _, value := range s.Entries {
		if why := fault(s.Kind, value); why != "" {
			faults = append(faults, fmt.Sprintf("%q: %s", value, why))
		}
	}
	if len(faults) > 0 {
		return fmt.Errorf("the list %q: %s", name, strings.Join(faults, "; "))
	}
	return nil
}
