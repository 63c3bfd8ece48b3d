// Package console serves the review console under /console for reviewers, operators and auditors.
//
// It puts the packages of the records together: each has its pages, its templates, its routes and its entry of the navigation. They read through
// the services and internal/delivery/consolequery, and make changes through the same services as the API, recorded under the user's name. No
// package may authenticate users itself (internal/account/staff does), write to the database, or render a page for a role that its routes do not
// list.
package console

import (
	"context"
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
	"github.com/countersign-dev/countersign/internal/authz/afterreview"
	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/authz/evaluation"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	listed "github.com/countersign-dev/countersign/internal/authz/lists"
	"github.com/countersign-dev/countersign/internal/authz/signing"
	"github.com/countersign-dev/countersign/internal/authz/standing"
	reads "github.com/countersign-dev/countersign/internal/delivery/consolequery"
	"github.com/countersign-dev/countersign/internal/delivery/destination"
	"github.com/countersign-dev/countersign/internal/delivery/listexport"
	"github.com/countersign-dev/countersign/internal/delivery/notify"
	"github.com/countersign-dev/countersign/internal/delivery/webhook"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/durable"
	"github.com/countersign-dev/countersign/internal/platform/events/stream"
	"github.com/countersign-dev/countersign/internal/subject/signal"
	"github.com/countersign-dev/countersign/internal/subject/upkeep"
	"github.com/countersign-dev/countersign/web"
	"github.com/countersign-dev/countersign/web/console/afterreviews"
	"github.com/countersign-dev/countersign/web/console/audit"
	"github.com/countersign-dev/countersign/web/console/changes"
	"github.com/countersign-dev/countersign/web/console/decisions"
	"github.com/countersign-dev/countersign/web/console/destinations"
	"github.com/countersign-dev/countersign/web/console/evaluations"
	"github.com/countersign-dev/countersign/web/console/exports"
	"github.com/countersign-dev/countersign/web/console/filters"
	"github.com/countersign-dev/countersign/web/console/forms"
	"github.com/countersign-dev/countersign/web/console/health"
	"github.com/countersign-dev/countersign/web/console/keys"
	"github.com/countersign-dev/countersign/web/console/lists"
	"github.com/countersign-dev/countersign/web/console/notifications"
	"github.com/countersign-dev/countersign/web/console/people"
	"github.com/countersign-dev/countersign/web/console/policies"
	"github.com/countersign-dev/countersign/web/console/retention"
	"github.com/countersign-dev/countersign/web/console/reviews"
	"github.com/countersign-dev/countersign/web/console/search"
	"github.com/countersign-dev/countersign/web/console/settings"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/signals"
	"github.com/countersign-dev/countersign/web/console/signin"
	"github.com/countersign-dev/countersign/web/console/signingkeys"
	"github.com/countersign-dev/countersign/web/console/subjects"
	"github.com/countersign-dev/countersign/web/console/teams"
	"github.com/countersign-dev/countersign/web/console/webhooks"
)

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
	AfterReviews   *afterreview.Service
	Standing       *standing.Service
	Authorizations *authorization.Service
	Actions        *action.Service
	Lists          *listed.Service
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
	// Signals receive security events about subjects.
	Signals *signal.Service
	// Destinations are where the log is pushed to.
	Destinations *destination.Service
	// Retention is how long each class of data is stored.
	Retention upkeep.Retention
	// Checks returns the readiness checks of the operations port.
	Checks func(ctx context.Context) []health.Check
	// Workers lists the processes that poll for Temporal tasks; nil if they cannot be listed.
	Workers func(ctx context.Context) ([]durable.Poller, error)
	// TemporalUI is the URL of the Temporal UI with its namespace, such as http://localhost:8233/namespaces/countersign;
	// empty for no links.
	TemporalUI string
}

// Section returns the section under /console.
func Section(d Deps) web.Section {
	contract, err := openapi.Compile()
	if err != nil {
		panic(err) // the document is embedded, and tests compile it
	}
	s := &shell.Shell{Log: d.Log, Clock: d.Clock, People: d.People, Tally: d.Tally, Contract: contract}
	records := d.records(s)
	return web.Section{Prefix: shell.Prefix, Templates: templates(records), Routes: func(r *web.Router) {
		s.Router = r
		s.Register(lines(s, records))
	}}
}

// records returns all records in the order of the navigation, and sets what the shell shows of them.
func (d Deps) records(s *shell.Shell) []shell.Record {
	export := &exports.Pages{Shell: s, Exports: d.Exports}
	saved := filters.New(s)
	cases := &decisions.Pages{Shell: s, Authorizations: d.Authorizations, ExportPages: export, FilterPages: saved, Holds: d.Holds, Reader: d.Reader, TemporalUI: d.TemporalUI}
	policy := &policies.Pages{Shell: s, Actions: d.Actions, Authorizations: d.Authorizations, Changes: d.Changes, ExportPages: export, Reader: d.Reader}
	changed := &changes.Pages{Shell: s, Actions: d.Actions, Changes: d.Changes, Decider: d.Decider, ExportPages: export, PolicyPages: policy, Reader: d.Reader}
	state := health.New(s, health.Pages{Checks: d.Checks, Credentials: d.Credentials, Reader: d.Reader, Signing: d.Signing, Workers: d.Workers})
	s.Altered = state.Altered
	records := []shell.Record{
		(&signin.Pages{Shell: s, SSO: d.SSO}).Record(), // first: its addresses have no environment
		(&reviews.Pages{
			Shell: s, Authorizations: d.Authorizations, DecisionPages: cases, ExportPages: export, FilterPages: saved, Holds: d.Holds, After: d.AfterReviews, Hub: d.Hub, Reader: d.Reader,
			Signing: d.Signing, Teams: d.Teams,
		}).Record(),
		(&afterreviews.Pages{Shell: s, After: d.AfterReviews, Reader: d.Reader}).Record(),
		cases.Record(),
		(&subjects.Pages{Shell: s, DecisionPages: cases, Standing: d.Standing, Reader: d.Reader}).Record(),
		policy.Record(),
		(&lists.Pages{Shell: s, ChangePages: changed, Changes: d.Changes, DecisionPages: cases, ExportPages: export, Lists: d.Lists, Reader: d.Reader}).Record(),
		changed.Record(),
		(&evaluations.Pages{Shell: s, Actions: d.Actions, Closer: d.Closer, Evaluations: d.Evaluations, ExportPages: export}).Record(),
		(&webhooks.Pages{Shell: s, Changes: d.Changes, Endpoints: d.Endpoints, ExportPages: export, Reader: d.Reader}).Record(),
		(&keys.Pages{Shell: s, Credentials: d.Credentials, ExportPages: export, Reader: d.Reader}).Record(),
		(&signingkeys.Pages{Shell: s, Signing: d.Signing}).Record(),
		(&people.Pages{Shell: s, Credentials: d.Credentials, ExportPages: export, Notices: d.Notices}).Record(),
		(&teams.Pages{Shell: s, Changes: d.Changes, Teams: d.Teams}).Record(),
		(&settings.Pages{Shell: s, Changes: d.Changes, Tenancy: d.Tenancy}).Record(),
		(&retention.Pages{Shell: s, Stored: d.Retention.Stored()}).Record(),
		(&signals.Pages{Shell: s, Signals: d.Signals}).Record(),
		(&destinations.Pages{Shell: s, Destinations: d.Destinations}).Record(),
		state.Record(),
		audit.New(s, audit.Pages{ExportPages: export, Reader: d.Reader, Signing: d.Signing}).Record(),
		saved.Record(),
		(&search.Pages{Shell: s, Authorizations: d.Authorizations, Holds: d.Holds, Reader: d.Reader}).Record(),
		(&notifications.Pages{Shell: s, Notices: d.Notices}).Record(),
	}
	for _, r := range records {
		if r.Entry != nil {
			s.Entries = append(s.Entries, *r.Entry)
		}
		for list, known := range r.Savable {
			saved.Known[list] = known
		}
	}
	return records
}

// lines returns the whole route table. A test calls each route with every role, with none, and from a different tenant.
func lines(s *shell.Shell, records []shell.Record) []shell.Line {
	var out []shell.Line
	for _, r := range records {
		out = append(out, r.Lines...)
	}
	return append(out, s.Lines()...)
}

// Routes returns the route table, for tests.
func Routes() []shell.Route {
	s := &shell.Shell{}
	all := lines(s, Deps{}.records(s))
	out := make([]shell.Route, len(all))
	for i, l := range all {
		out[i] = l.Route
	}
	return out
}

// templates returns the files of the shell, of forms and of all records as one folder.
func templates(records []shell.Record) fs.FS {
	out := folders{shell.Templates, forms.Templates}
	for _, r := range records {
		if r.Templates != nil {
			out = append(out, r.Templates)
		}
	}
	return out
}

// folders are several folders read as one. No two have a file of one name.
type folders []fs.FS

// Open implements fs.FS.
func (f folders) Open(name string) (fs.File, error) {
	for _, one := range f {
		file, err := one.Open("templates/" + name)
		if err == nil {
			return file, nil
		}
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// ReadDir implements fs.ReadDirFS for the folder itself.
func (f folders) ReadDir(string) ([]fs.DirEntry, error) {
	var out []fs.DirEntry
	for _, one := range f {
		files, err := fs.ReadDir(one, "templates")
		if err != nil {
			return nil, err
		}
		out = append(out, files...)
	}
	return out, nil
}
