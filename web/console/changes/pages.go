// Package changes has the pages of changes that wait for a second approver, and those that are settled.
package changes

import (
	"embed"

	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/change"
	reads "github.com/countersign-dev/countersign/internal/delivery/consolequery"
	"github.com/countersign-dev/countersign/web/console/exports"
	"github.com/countersign-dev/countersign/web/console/policies"
	"github.com/countersign-dev/countersign/web/console/shell"
)

//go:embed all:templates
var templates embed.FS

// Pages are the pages of change requests.
type Pages struct {
	*shell.Shell
	Actions     *action.Service
	Changes     *change.Service
	Decider     *change.Decider
	PolicyPages *policies.Pages
	Reader      *reads.Reader
	ExportPages *exports.Pages
}

// Record declares the pages: their routes, templates and entry of the navigation.
func (c *Pages) Record() shell.Record {
	return shell.Record{
		Entry:     &shell.Entry{Group: "Policy", Label: "Changes", Path: "changes", Key: "c", Right: shell.ReadConfig, Count: c.waitingChanges},
		Templates: templates,
		Lines: []shell.Line{
			shell.See("/:environment/export/changes", "export_changes", shell.ReadConfig, c.ExportPages.Handler(c.changesExport)),
			shell.See("/:environment/changes", "changes", shell.ReadConfig, c.changes),
			shell.See("/:environment/changes/:id", "change", shell.ReadConfig, c.changePage),
			shell.Confirmed("/:environment/changes/:id", "change_decide", shell.ActivatePolicies, c.decideChange),
			shell.Change("/:environment/changes/:id/reason", "change_explain", shell.ActivatePolicies, c.explainChange),
		},
	}
}
