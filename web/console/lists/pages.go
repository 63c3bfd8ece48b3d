// Package lists has the pages of lists of values that rules read.
package lists

import (
	"embed"

	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/authz/lists"
	reads "github.com/countersign-dev/countersign/internal/delivery/consolequery"
	"github.com/countersign-dev/countersign/web/console/changes"
	"github.com/countersign-dev/countersign/web/console/decisions"
	"github.com/countersign-dev/countersign/web/console/exports"
	"github.com/countersign-dev/countersign/web/console/shell"
)

//go:embed all:templates
var templates embed.FS

// Pages are the pages of lists.
type Pages struct {
	*shell.Shell
	ChangePages   *changes.Pages
	Changes       *change.Service
	DecisionPages *decisions.Pages
	Lists         *lists.Service
	Reader        *reads.Reader
	ExportPages   *exports.Pages
}

// Record declares the pages: their routes, templates and entry of the navigation.
func (c *Pages) Record() shell.Record {
	return shell.Record{
		Entry:     &shell.Entry{Group: "Policy", Label: "Lists", Path: "lists", Key: "i", Right: shell.ReadConfig},
		Templates: templates,
		Lines: []shell.Line{
			shell.See("/:environment/export/lists", "export_lists", shell.ReadConfig, c.ExportPages.Handler(c.listsExport)),
			shell.See("/:environment/export/lists/:id", "export_entries", shell.ReadConfig, c.ExportPages.Handler(c.entriesExport)),
			shell.See("/:environment/lists", "lists", shell.ReadConfig, c.lists),
			shell.See("/:environment/lists/new", "list_new", shell.ActivatePolicies, c.newList),
			shell.Confirmed("/:environment/lists/new", "list_create", shell.ActivatePolicies, c.createList),
			shell.See("/:environment/lists/add", "list_add_from", shell.AddFromCase, c.newFromDecision),
			shell.Confirmed("/:environment/lists/add", "list_added_from", shell.AddFromCase, c.addFromDecision),
			shell.See("/:environment/lists/:id", "list", shell.ReadConfig, c.list),
			shell.See("/:environment/lists/:id/add", "list_entry_new", shell.ActivatePolicies, c.newEntry),
			shell.Confirmed("/:environment/lists/:id/add", "list_entry_add", shell.ActivatePolicies, c.addEntry),
			shell.See("/:environment/lists/:id/many", "list_entries_new", shell.ActivatePolicies, c.newEntries),
			shell.Confirmed("/:environment/lists/:id/many", "list_entries_add", shell.ActivatePolicies, c.addEntries),
			shell.Confirmed("/:environment/lists/:id/entries/:entry/remove", "list_entry_remove", shell.ActivatePolicies, c.removeEntry),
			shell.Confirmed("/:environment/lists/:id/delete", "list_delete", shell.ActivatePolicies, c.deleteList),
		},
	}
}
