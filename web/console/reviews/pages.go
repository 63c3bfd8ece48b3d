// Package reviews has the pages of the queue of holds, one hold with its review, and selections of holds.
package reviews

import (
	"embed"

	"github.com/countersign-dev/countersign/internal/account/team"
	"github.com/countersign-dev/countersign/internal/authz/afterreview"
	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/authz/signing"
	reads "github.com/countersign-dev/countersign/internal/delivery/consolequery"
	"github.com/countersign-dev/countersign/internal/platform/events/stream"
	"github.com/countersign-dev/countersign/web/console/decisions"
	"github.com/countersign-dev/countersign/web/console/exports"
	"github.com/countersign-dev/countersign/web/console/filters"
	"github.com/countersign-dev/countersign/web/console/shell"
)

//go:embed all:templates
var templates embed.FS

// Pages are the pages of holds.
type Pages struct {
	*shell.Shell
	Authorizations *authorization.Service
	DecisionPages  *decisions.Pages
	FilterPages    *filters.Pages
	Holds          *hold.Service
	After          *afterreview.Service
	Hub            *stream.Hub
	Reader         *reads.Reader
	Signing        *signing.Service
	Teams          *team.Service
	ExportPages    *exports.Pages
}

// Record declares the pages: their routes, templates and entry of the navigation.
func (c *Pages) Record() shell.Record {
	return shell.Record{
		Entry:     &shell.Entry{Group: "Work", Label: "Reviews", Path: "reviews", Key: "r", Right: shell.ReadDecisions, Count: c.pendingHolds},
		Templates: templates,
		Savable: map[string]map[string][]string{
			"reviews": {"status": viewWords, "action": nil, "risk": riskWords, "sort": {byDue, byOpened, byAmount}, "mine": {"1"}},
		},
		Lines: []shell.Line{
			shell.SeeUnattended("/:environment/stream", "stream", shell.ReadDecisions, c.stream),
			shell.See("/:environment/reviews", "reviews", shell.ReadDecisions, c.desk),
			shell.Change("/:environment/reviews/selected", "reviews_selected", shell.Review, c.selected),
			shell.Confirmed("/:environment/reviews/settle", "reviews_settle", shell.Review, c.settle),
			shell.Change("/:environment/reviews/undo", "reviews_undo", shell.Review, c.undo),
			shell.See("/:environment/reviews/:id", "review", shell.ReadDecisions, c.reviewPage),
			shell.Confirmed("/:environment/reviews/:id", "review_resolve", shell.Review, c.resolve),
			shell.Change("/:environment/reviews/:id/undo", "review_undo", shell.Review, c.undo),
			shell.Change("/:environment/reviews/:id/assign", "review_assign", shell.Review, c.assign),
			shell.ChangeUnattended("/:environment/reviews/:id/leave", "review_leave", shell.Review, c.leave),
			shell.See("/:environment/export/reviews", "export_reviews", shell.ReadDecisions, c.ExportPages.Handler(c.reviewsExport)),
		},
	}
}
