// Package search has the pages of the search of everything.
package search

import (
	"embed"

	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	reads "github.com/countersign-dev/countersign/internal/delivery/consolequery"
	"github.com/countersign-dev/countersign/web/console/shell"
)

//go:embed all:templates
var templates embed.FS

// Pages are the pages of search results.
type Pages struct {
	*shell.Shell
	Authorizations *authorization.Service
	Holds          *hold.Service
	Reader         *reads.Reader
}

// Record declares the pages: their routes, templates and entry of the navigation.
func (c *Pages) Record() shell.Record {
	return shell.Record{
		Templates: templates,
		Lines: []shell.Line{
			shell.See("/:environment/search", "search", shell.AnyRole, c.find),
		},
	}
}
