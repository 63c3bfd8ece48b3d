package configfile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/rules"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// List is a list that rules read. All of it is fixed at creation. Its entries are data of the environment and not in the file.
type List struct {
	Kind        countersign.NamedListKind `json:"kind,omitzero"`
	Personal    bool                      `json:"personal,omitzero"`
	Description string                    `json:"description,omitzero"`
}

func (s *State) readLists(ctx context.Context, api *countersign.Client) error {
	s.Document.Lists, s.lists = map[string]List{}, map[string]string{}
	for l, err := range api.AllLists(ctx, countersign.ListListsParams{Limit: largestPage}) {
		if err != nil {
			return err
		}
		s.Document.Lists[l.Name], s.lists[l.Name] = List{Kind: l.Kind, Personal: l.Personal, Description: l.Description}, l.ID
	}
	return nil
}

// newLists plans the lists before the policies that read them.
func (p *Plan) newLists(want map[string]List) error {
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(want)) {
		w, entry := want[name], "lists."+name
		have, exists := p.state.Document.Lists[name]
		fields, err := differences(have, w)
		if err != nil {
			return err
		}
		if exists && len(fields) > 0 {
			faults = append(faults, fmt.Errorf("%s.%s is fixed: create a list with another name and the values that you want", entry, fields[0].Path))
		}
		if !exists {
			p.Changes = append(p.Changes, Change{Sign: Add, Entry: entry, Fields: fields, make: func(ctx context.Context, m *maker) error {
				_, err := m.api.CreateList(ctx, countersign.NamedListCreate{Name: name, Kind: w.Kind, Personal: w.Personal, Description: w.Description})
				return m.done(entry, "created", err)
			}})
		}
	}
	return errors.Join(faults...)
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
