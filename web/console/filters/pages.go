// Package filters has the pages of filters that a user saves of a list.
package filters

import (
	"embed"

	"github.com/countersign-dev/countersign/web/console/shell"
)

//go:embed all:templates
var templates embed.FS

// Pages are the pages of saved filters.
type Pages struct {
	*shell.Shell
	// Known are the filters of each list that can be saved, with the values that each may have; nil for an action's key.
	Known map[string]map[string][]string
}

// New returns the pages without a list.
func New(s *shell.Shell) *Pages { return &Pages{Shell: s, Known: map[string]map[string][]string{}} }

// Record declares the pages: their routes, templates and entry of the navigation.
func (c *Pages) Record() shell.Record {
	return shell.Record{
		Templates: templates,
		Lines: []shell.Line{
			shell.Change("/:environment/filters", "filter_save", shell.AnyRole, c.saveFilter),
			shell.Change("/:environment/filters/:id", "filter_rename", shell.AnyRole, c.renameFilter),
			shell.Change("/:environment/filters/:id/delete", "filter_delete", shell.AnyRole, c.deleteFilter),
		},
	}
}
