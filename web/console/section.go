// Package console is the review console: what reviewers, operators and auditors open in a browser under /console. Its pages
// are rendered here; what is read comes from the services and internal/delivery/consolequery, and every change goes through the service
// that the API uses, under the person's own name.
//
// It may not decide who is who (internal/account/staff does), write to the database, or show a page that the route table in
// routes.go does not give to one of the person's roles.
package console

import (
	"context"
	"embed"
	"io/fs"
	"log/slog"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/evaluation"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	reads "github.com/countersign-dev/countersign/internal/delivery/consolequery"
	"github.com/countersign-dev/countersign/internal/delivery/webhook"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events/stream"
	"github.com/countersign-dev/countersign/web"
)

//go:embed all:templates
var templates embed.FS

// Prefix is where the console lives.
const Prefix = "/console"

// Deps are what the pages are made from. All are required but TemporalUI and Workers.
type Deps struct {
	Log            *slog.Logger
	Clock          clock.Clock
	People         *staff.Service
	Reader         *reads.Reader
	Holds          *hold.Service
	Reviewer       *hold.Reviewer
	Authorizations *authorization.Service
	Actions        *action.Service
	Evaluations    *evaluation.Service
	Endpoints      *webhook.Endpoints
	Hub            *stream.Hub
	// Checks is what readiness depends on, as the operations port answers it.
	Checks func(ctx context.Context) []Check
	// Workers are the processes that poll for workflow tasks.
	Workers func(ctx context.Context) ([]Worker, error)
	// TemporalUI is the address of the Temporal UI with its namespace, such as http://localhost:8233/namespaces/countersign;
	// empty for no links.
	TemporalUI string
}

// Section is the console as a part of the site.
func Section(d Deps) web.Section {
	files, err := fs.Sub(templates, "templates")
	if err != nil {
		panic(err) // the folder is embedded above
	}
	return web.Section{Prefix: Prefix, Templates: files, Routes: func(r *web.Router) {
		(&console{Deps: d, router: r}).register()
	}}
}

// console holds what the handlers share.
type console struct {
	Deps
	router *web.Router
}
