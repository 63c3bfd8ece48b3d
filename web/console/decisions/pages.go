// Package decisions has the pages of decisions: their search, and one with its evidence, reviews and history.
package decisions

import (
	"embed"

	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	reads "github.com/countersign-dev/countersign/internal/delivery/consolequery"
	"github.com/countersign-dev/countersign/web/console/exports"
	"github.com/countersign-dev/countersign/web/console/filters"
	"github.com/countersign-dev/countersign/web/console/shell"
)

//go:embed all:templates
var templates embed.FS

// Pages are the pages of decisions.
type Pages struct {
	*shell.Shell
	Authorizations *authorization.Service
	FilterPages    *filters.Pages
	Holds          *hold.Service
	Reader         *reads.Reader
	TemporalUI     string
	ExportPages    *exports.Pages
}

// Record declares the pages: their routes, templates and entry of the navigation.
func (c *Pages) Record() shell.Record {
	return shell.Record{
		Entry:     &shell.Entry{Group: "Work", Label: "Decisions", Path: "decisions", Key: "d", Right: shell.ReadDecisions},
		Templates: templates,
		Savable: map[string]map[string][]string{
			"decisions": {"action": nil, "decision": decisionWords, "mode": modeWords, "review": ReviewWords},
		},
		Lines: []shell.Line{
			shell.SeeAged("/:environment/decisions", "decisions", shell.ReadDecisions, c.decisions),
			shell.See("/:environment/decisions/:id", "decision", shell.ReadDecisions, c.decision),
			shell.SeeAged("/:environment/export/decisions", "export_decisions", shell.ReadDecisions, c.ExportPages.Handler(c.decisionsExport)),
		},
	}
}
