package wiring

import (
	"context"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/authz/evaluation"
	reads "github.com/countersign-dev/countersign/internal/delivery/consolequery"
	"github.com/countersign-dev/countersign/internal/delivery/listexport"
	"github.com/countersign-dev/countersign/internal/platform/durable"
	"github.com/countersign-dev/countersign/web"
	"github.com/countersign-dev/countersign/web/console"
	"github.com/countersign-dev/countersign/web/console/health"
	"github.com/countersign-dev/countersign/workflows"
)

func (p *Process) console() web.Section {
	s := p.services
	return console.Section(console.Deps{
		Log: p.Log, Clock: p.Clock, People: p.People, SSO: p.SSO, Credentials: p.Identity, Tally: s.tally,
		Reader:         reads.New(p.Store, p.Clock, s.authorizations),
		Holds:          s.holds,
		AfterReviews:   s.afterReviews,
		Standing:       s.standing,
		Lists:          p.Lists,
		Notices:        s.notices,
		Changes:        s.changes,
		Decider:        change.NewDecider(s.changes, p.Flows),
		Authorizations: s.authorizations, Actions: s.actions, Evaluations: s.evaluations, Endpoints: s.endpoints, Hub: s.hub,
		Signing: p.Signing, Tenancy: p.Tenancy, Teams: p.Teams, Closer: evaluation.NewCloser(s.evaluations, p.Flows),
		Retention: p.options.retention(), Signals: p.Signals, Destinations: p.LogDestinations,
		Exports: listexport.New(p.Store, p.Clock, p.Log),
		Checks:  p.readiness, Workers: p.pollers, TemporalUI: p.runsAt(),
	})
}

// runsAt is the URL of the namespace's workflow runs in the Temporal UI; empty if no UI is configured.
func (p *Process) runsAt() string {
	if p.options.TemporalUI == "" {
		return ""
	}
	space := p.options.Temporal.Namespace
	if space == "" {
		space = workflows.Namespace
	}
	return strings.TrimSuffix(p.options.TemporalUI, "/") + "/namespaces/" + space
}

func (p *Process) readiness(ctx context.Context) []health.Check {
	ready := p.Ops.readiness(ctx)
	out := make([]health.Check, 0, len(ready.checks))
	for name, state := range ready.checks {
		out = append(out, health.Check{Name: name, State: state, Starting: ready.starting[name], Loss: ready.lost[name]})
	}
	slices.SortFunc(out, func(a, b health.Check) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// pollers are the workers that Temporal has seen within the last minutes.
func (p *Process) pollers(ctx context.Context) ([]durable.Poller, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	return p.Flows.Pollers(ctx)
}
