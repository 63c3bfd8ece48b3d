// Package evaluations has the pages of evaluations with their reports.
package evaluations

import (
	"embed"

	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/evaluation"
	"github.com/countersign-dev/countersign/web/console/exports"
	"github.com/countersign-dev/countersign/web/console/shell"
)

//go:embed all:templates
var templates embed.FS

// Pages are the pages of evaluations.
type Pages struct {
	*shell.Shell
	Actions     *action.Service
	Closer      *evaluation.Closer
	Evaluations *evaluation.Service
	ExportPages *exports.Pages
}

// Record declares the pages: their routes, templates and entry of the navigation.
func (c *Pages) Record() shell.Record {
	return shell.Record{
		Entry:     &shell.Entry{Group: "Policy", Label: "Evaluations", Path: "evaluations", Key: "e", Right: shell.ReadConfig},
		Templates: templates,
		Lines: []shell.Line{
			shell.SeeAged("/:environment/export/evaluations", "export_evaluations", shell.ReadConfig, c.ExportPages.Handler(c.evaluationsExport)),
			shell.SeeAged("/:environment/evaluations", "evaluations", shell.ReadConfig, c.evaluations),
			shell.See("/:environment/evaluations/new", "evaluation_new", shell.ManageEvaluations, c.newEvaluation),
			shell.Change("/:environment/evaluations/new", "evaluation_create", shell.ManageEvaluations, c.createEvaluation),
			shell.SeeAged("/:environment/evaluations/:id", "evaluation", shell.ReadConfig, c.evaluation),
			shell.Change("/:environment/evaluations/:id/close", "evaluation_close", shell.ManageEvaluations, c.closeEvaluation),
		},
	}
}
