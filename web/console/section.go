// Package console serves the review console under /console for reviewers, operators and auditors.
//
// It reads through the services and internal/delivery/consolequery, and makes changes through the same services as the API,
// recorded under the user's name. It may not authenticate users itself (internal/account/staff does), write to the database,
// or render a page for a role that the route table in routes.go does not list.
package console

import (
	"context"
	"embed"
	"io/fs"
	"log/slog"

	"github.com/countersign-dev/countersign/api/openapi"
	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/sso"
	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/account/tally"
	"github.com/countersign-dev/countersign/internal/account/team"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/authz/evaluation"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/authz/lists"
	"github.com/countersign-dev/countersign/internal/authz/signing"
	reads "github.com/countersign-dev/countersign/internal/delivery/consolequery"
	"github.com/countersign-dev/countersign/internal/delivery/listexport"
	"github.com/countersign-dev/countersign/internal/delivery/notify"
	"github.com/countersign-dev/countersign/internal/delivery/webhook"
	"github.com/countersign-dev/countersign/internal/platform/admission"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/durable"
	"github.com/countersign-dev/countersign/internal/platform/events/stream"
	"github.com/countersign-dev/countersign/web"
)

//go:embed all:templates
var templates embed.FS

// Prefix is the path prefix of the console.
const Prefix = "/console"

// Deps are the dependencies of the console. All but TemporalUI and Workers are required.
type Deps struct {
	Log            *slog.Logger
	Clock          clock.Clock
	People         *staff.Service
	SSO            *sso.Service
	Credentials    *identity.Service
	Tally          *tally.Recorder
	Reader         *reads.Reader
	Holds          *hold.Service
	Authorizations *authorization.Service
	Actions        *action.Service
	Lists          *lists.Service
	Changes        *change.Service
	Decider        *change.Decider
	Evaluations    *evaluation.Service
	Closer         *evaluation.Closer
	Tenancy        *tenancy.Service
	Teams          *team.Service
	Endpoints      *webhook.Endpoints
	Exports        *listexport.Service
	Notices        *notify.Service
	Hub            *stream.Hub
	Signing        *signing.Service
	// Checks returns the readiness checks of the operations port.
	Checks func(ctx context.Context) []Check
	// Workers lists the processes that poll for Temporal tasks; nil if they cannot be listed.
	Workers func(ctx context.Context) ([]durable.Poller, error)
	// TemporalUI is the URL of the Temporal UI with its namespace, such as http://localhost:8233/namespaces/countersign;
	// empty for no links.
	TemporalUI string
}

// Section returns the section under /console.
func Section(d Deps) web.Section {
	files, err := fs.Sub(templates, "templates")
	if err != nil {
		panic(err) // the folder is embedded above
	}
	contract, err := openapi.Compile()
	if err != nil {
		panic(err) // the document is embedded, and tests compile it
	}
	return web.Section{Prefix: Prefix, Templates: files, Routes: func(r *web.Router) {
		(&console{Deps: d, router: r, verdicts: newVerdicts(d.Clock), contract: contract, verifying: admission.New(1, 1, verificationsQueued)}).register()
	}}
}

// console is the state that the handlers share.
type console struct {
	Deps
	router   *web.Router
	verdicts *verdicts
	contract *openapi.Contract // of the API, which also checks the console's forms

	verifying *admission.Gate // admits the one verification of an audit log at a time
}
