package configfile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/authz/lists"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/rules"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/models"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// List is a list that rules read. All of it but its entries is fixed at creation.
type List struct {
	Kind        countersign.NamedListKind `json:"kind,omitzero"`
	Personal    bool                      `json:"personal,omitzero"`
	Description string                    `json:"description,omitzero"`
	Entries     []ListEntry               `json:"entries,omitzero"` // nil for those of a personal list and of one with too many
}

// ListEntry is a value of a list.
type ListEntry struct {
	Value     string `json:"value"`
	Reason    string `json:"reason"`
	ExpiresAt string `json:"expires_at,omitzero"` // RFC 3339
}

// Bounds of the entries that a file has: the most of a list, and the bytes of all, so that the file can be read again.
const (
	maxListEntries = 1000
	maxListBytes   = maxFile / 4
)

func (s *State) readLists(ctx context.Context, api *countersign.Client) error {
	s.Document.Lists, s.lists = map[string]List{}, map[string]string{}
	bytes := 0
	for l, err := range api.AllLists(ctx, countersign.ListListsParams{Limit: largestPage}) {
		if err != nil {
			return err
		}
		read := List{Kind: l.Kind, Personal: l.Personal, Description: l.Description}
		if !l.Personal && l.Entries <= maxListEntries {
			if read.Entries, err = readEntries(ctx, api, l.ID); err != nil {
				return err
			}
			for _, e := range read.Entries {
				bytes += len(e.Value) + len(e.Reason)
			}
		}
		switch {
		case l.Personal && l.Entries > 0:
			s.Notes = append(s.Notes, fmt.Sprintf("lists.%s: its %d entries are left out: a personal list stores digests of its values under a key of its own, "+
				"so that they mean nothing in another environment; import the values there (countersign list import)", l.Name, l.Entries))
		case l.Entries > maxListEntries, bytes > maxListBytes:
			read.Entries = nil
			s.Notes = append(s.Notes, fmt.Sprintf("lists.%s: its %d entries are left out: a file has at most %d of a list, and %d bytes of entries; "+
				"countersign list export writes them", l.Name, l.Entries, maxListEntries, maxListBytes))
		}
		s.Document.Lists[l.Name], s.lists[l.Name] = read, l.ID
	}
	return nil
}

// readEntries returns the entries of a list that have not expired, by value.
func readEntries(ctx context.Context, api *countersign.Client, list string) ([]ListEntry, error) {
	out := []ListEntry{}
	for e, err := range api.AllListEntries(ctx, list, countersign.ListListEntriesParams{Limit: largestPage}) {
		if err != nil {
			return nil, err
		}
		entry := ListEntry{Value: e.Value, Reason: e.Reason}
		if e.ExpiresAt != nil {
			entry.ExpiresAt = apitime.Time(*e.ExpiresAt)
		}
		if !entry.expired() {
			out = append(out, entry)
		}
	}
	slices.SortFunc(out, func(a, b ListEntry) int { return strings.Compare(a.Value, b.Value) })
	return out, nil
}

// expired reports whether the entry has expired. One with a wrong time has not.
func (e ListEntry) expired() bool {
	at, err := apitime.Parse(e.ExpiresAt)
	return err == nil && !at.After(clock.System().Now())
}

// added returns the entry for the API, or why a list of a kind cannot have it.
func (e ListEntry) added(kind countersign.NamedListKind) (countersign.NamedListAdded, string) {
	out := countersign.NamedListAdded{Value: e.Value, Reason: e.Reason}
	if e.ExpiresAt != "" {
		at, err := apitime.Parse(e.ExpiresAt)
		if err != nil {
			return out, "expires_at " + err.Error()
		}
		out.ExpiresAt = &at
	}
	_, why := lists.NewEntry{Value: e.Value, Reason: e.Reason, ExpiresAt: out.ExpiresAt}.Fault(models.ListKind(kind), clock.System().Now())
	return out, why
}

// newLists plans the lists before the policies that read them.
func (p *Plan) newLists(want map[string]List, prune bool) error {
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(want)) {
		w, entry := want[name], "lists."+name
		have, exists := p.state.Document.Lists[name]
		fixed, draft := have, w
		fixed.Entries, draft.Entries = nil, nil
		fields, err := differences(fixed, draft)
		if err != nil {
			return err
		}
		if exists && len(fields) > 0 {
			faults = append(faults, fmt.Errorf("%s.%s is fixed: create a list with another name and the values that you want", entry, fields[0].Path))
		}
		if !exists {
			p.Changes = append(p.Changes, Change{Sign: Add, Entry: entry, Fields: fields, make: func(ctx context.Context, m *maker) error {
				l, err := m.api.CreateList(ctx, countersign.NamedListCreate{Name: name, Kind: w.Kind, Personal: w.Personal, Description: w.Description})
				if err == nil {
					p.state.lists[name] = l.ID
				}
				return m.done(entry, "created", err)
			}})
		}
		if w.Entries != nil {
			if !exists {
				have = List{Entries: []ListEntry{}}
			}
			faults = append(faults, p.entries(name, w, have, prune))
		}
	}
	return errors.Join(faults...)
}

// entries plans the entries of a list that the file has. Values are compared as the service does.
func (p *Plan) entries(name string, want, have List, prune bool) error {
	at := "lists." + name + ".entries"
	switch {
	case want.Personal || have.Personal:
		return fmt.Errorf("%s: the list is personal: it stores digests of its values, and a file must not have the values themselves; import them (countersign list import)", at)
	case have.Entries == nil:
		return fmt.Errorf("%s: the environment has too many to compare: leave them out, and import them (countersign list import)", at)
	}
	left, seen := map[string]ListEntry{}, map[string]int{}
	for _, e := range have.Entries {
		left[canonical.Normal(e.Value)] = e
	}
	kind := cmp.Or(want.Kind, have.Kind)
	c := Change{Sign: Alter, Entry: at}
	var edit countersign.NamedListChange
	var faults []error
	for i, e := range want.Entries {
		if e.expired() {
			p.Notes = append(p.Notes, fmt.Sprintf("%s[%d] is left out: it has expired", at, i))
			continue
		}
		added, why := e.added(kind)
		if why != "" {
			faults = append(faults, fmt.Errorf("%s[%d]: %s", at, i, why))
			continue
		}
		key := canonical.Normal(e.Value)
		if first, twice := seen[key]; twice {
			faults = append(faults, fmt.Errorf("%s[%d]: value is that of entry %d; case and white space make no difference", at, i, first))
			continue
		}
		seen[key] = i
		before, exists := left[key]
		delete(left, key)
		if exists && before.same(e) {
			continue
		}
		field := Field{Path: e.Value, After: e}
		if exists {
			field.Before = before
		}
		c.Fields, edit.Add = append(c.Fields, field), append(edit.Add, added)
	}
	if !prune && len(left) > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("%s: %d that are not in the file are kept; --prune removes them", at, len(left)))
	}
	for _, key := range slices.Sorted(maps.Keys(left)) {
		if prune {
			c.Fields, edit.Remove = append(c.Fields, Field{Path: left[key].Value, Before: left[key]}), append(edit.Remove, countersign.NamedListRemoved{Value: left[key].Value})
		}
	}
	c.make = func(ctx context.Context, m *maker) error { return m.entries(ctx, at, p.state.lists[name], edit) }
	if len(c.Fields) > 0 {
		p.Changes = append(p.Changes, c)
	}
	return errors.Join(faults...)
}

// same reports whether an entry has the reason and the expiry of the other.
func (e ListEntry) same(other ListEntry) bool {
	a, _ := apitime.Parse(e.ExpiresAt)
	b, _ := apitime.Parse(other.ExpiresAt)
	return strings.TrimSpace(e.Reason) == strings.TrimSpace(other.Reason) && a.Equal(b)
}

// entries changes the entries of a list, as many at once as the service takes.
func (m *maker) entries(ctx context.Context, at, list string, edit countersign.NamedListChange) error {
	for len(edit.Add)+len(edit.Remove) > 0 {
		add, remove := min(len(edit.Add), lists.MaxEdit), min(len(edit.Remove), lists.MaxEdit)
		_, err := m.api.ChangeListEntries(ctx, list, countersign.NamedListChange{Add: edit.Add[:add], Remove: edit.Remove[:remove]})
		if err := m.done(at, fmt.Sprintf("%d added or changed, %d removed", add, remove), err); err != nil {
			return err
		}
		edit.Add, edit.Remove = edit.Add[add:], edit.Remove[remove:]
	}
	return nil
}

// readsNewList reports whether the rules of an action read a list that the environment does not have yet.
func (p *Plan) readsNewList(a Action) (bool, error) {
	in, err := convert[policy.Requirements](a.Requirements)
	return slices.ContainsFunc(rules.CompileStored(in.Rules, a.ContextSchema).Lists(), func(l rules.UsedList) bool { return p.state.lists[l.Name] == "" }), err
}

// removeLists plans the removal of lists after that of the policies that read them.
func (p *Plan) removeLists(want map[string]List, prune bool) {
	for _, name := range slices.Sorted(maps.Keys(p.state.Document.Lists)) {
		if _, named := want[name]; !named && want != nil {
			p.remove("lists."+name, prune, func(ctx context.Context, m *maker) error { return m.api.DeleteList(ctx, p.state.lists[name]) })
		}
	}
}
