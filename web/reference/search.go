package reference

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// entry is a page or a part of one that the search finds: its kind, words, detail and address.
type entry [4]string

// indexOf lists everything that the search finds, the most specific kinds last.
func (s *section) indexOf() ([]byte, error) {
	var all []entry
	for _, group := range s.guideGroups {
		for _, g := range group.Guides {
			all = append(all, entry{"Guide", g.Title, g.Question, g.URL})
			for _, h := range g.Headings {
				all = append(all, entry{"Guide", h.Text, g.Title, g.URL + h.URL})
			}
		}
	}
	for _, g := range s.groups {
		for _, op := range g.Operations {
			all = append(all, entry{"Operation", op.Method + " " + op.Path, op.Summary, "/docs/operations/" + g.Slug + "#" + op.ID})
		}
	}
	catalogue := problem.Catalogue()
	for _, code := range slices.Sorted(maps.Keys(catalogue)) {
		all = append(all, entry{"Error", string(code), catalogue[code].Title, "/docs/errors#" + string(code)})
	}
	for _, d := range events.Catalogue() {
		all = append(all, entry{"Event", string(d.Type), d.Description, "/docs/events#" + string(d.Type)})
	}
	for name, found := range s.contract.Components.Schemas.all() {
		first, _, _ := strings.Cut(found.Description, "\n")
		all = append(all, entry{"Schema", name, first, schemaURL(name)})
	}
	return json.Marshal(all)
}
