// Package subjects has the pages of a subject with its decisions, sessions and events.
package subjects

import (
	"embed"

	"github.com/countersign-dev/countersign/internal/authz/standing"
	reads "github.com/countersign-dev/countersign/internal/delivery/consolequery"
	"github.com/countersign-dev/countersign/web/console/decisions"
	"github.com/countersign-dev/countersign/web/console/shell"
)

//go:embed all:templates
var templates embed.FS

// Pages are the pages of subjects.
type Pages struct {
	*shell.Shell
	DecisionPages *decisions.Pages
	Standing      *standing.Service
	Reader        *reads.Reader
}

// Record declares the pages: their routes, templates and entry of the navigation.
func (c *Pages) Record() shell.Record {
	return shell.Record{
		Templates: templates,
		Lines: []shell.Line{
			shell.SeeAged("/:environment/subjects/:subject", "subject", shell.ReadDecisions, c.subject),
			shell.Confirmed("/:environment/standing/:id/revoke", "standing_revoke", shell.ActivatePolicies, c.revokeStanding),
		},
	}
}
