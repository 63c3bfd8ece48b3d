package configfile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/countersign-dev/countersign/internal/authz/policy"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// Plan lists the changes that would make an environment as a file says.
type Plan struct {
	Changes []Change
	Notes   []string // what is left out
	Kept    []string // entries that the file does not have, and that are kept
	Reason  string   // why they are made, for the second approver and the policies' versions; may be empty

	state *State
	api   *countersign.Client
}

// Sign is the kind of a change, as diff writes it.
type Sign string

// The values of Sign.
const (
	Add    Sign = "+"
	Alter  Sign = "~"
	Remove Sign = "-"
)

// Change is a difference of one entry.
type Change struct {
	Sign   Sign
	Entry  string // such as actions.payments.transfer
	Fields []Field

	warnings []policy.Warning // about the policy that it makes
	make     func(ctx context.Context, m *maker) error
	simulate func(ctx context.Context) (*countersign.PolicySimulation, error) // nil if no policy in force would change
}

// Compare plans the changes of the client's environment that the document needs. With prune, entries that the document does not
// have are removed. Every reason why the document cannot be applied that is known before is in the error.
func Compare(ctx context.Context, api *countersign.Client, doc *Document, prune bool) (*Plan, error) {
	state, err := Read(ctx, api)
	if err != nil {
		return nil, err
	}
	stored, err := doc.canonical()
	if err != nil {
		return nil, err
	}
	want, notes, err := stored.fit(state.Kind)
	if err != nil {
		return nil, err
	}
	p := &Plan{Notes: notes, state: state, api: api}
	err = errors.Join(p.checkTeams(want, prune), p.settings(want.Environment), p.teams(want.Teams), p.newLists(want.Lists, prune), p.actions(want.Actions, prune),
		p.endpoints(want.WebhookEndpoints, prune), p.destinations(want.Destinations, prune))
	p.removeTeams(want.Teams, prune)
	p.removeLists(want.Lists, prune)
	return p, errors.Join(err, p.lock(want.Environment))
}

// settings plans the settings, without switching four eyes on: the changes after it would wait for a second approver.
func (p *Plan) settings(want *countersign.EnvironmentUpdate) error {
	if want == nil {
		return nil
	}
	now := *want
	if p.locks(want) {
		now.SecondApproverRequired = nil
	}
	return p.update(&now)
}

// lock plans switching four eyes on, after everything else.
func (p *Plan) lock(want *countersign.EnvironmentUpdate) error {
	if want == nil || !p.locks(want) {
		return nil
	}
	return p.update(&countersign.EnvironmentUpdate{SecondApproverRequired: want.SecondApproverRequired})
}

func (p *Plan) locks(want *countersign.EnvironmentUpdate) bool {
	return want.SecondApproverRequired != nil && *want.SecondApproverRequired && !*p.state.Document.Environment.SecondApproverRequired
}

func (p *Plan) update(want *countersign.EnvironmentUpdate) error {
	fields, err := differences(p.state.Document.Environment, want)
	if err != nil || len(fields) == 0 {
		return err
	}
	body, err := changed(want, fields)
	if err != nil {
		return err
	}
	p.Changes = append(p.Changes, Change{Sign: Alter, Entry: "environment", Fields: fields, make: func(ctx context.Context, m *maker) error {
		_, err := m.api.UpdateEnvironment(ctx, body)
		return m.done("environment", "changed", err)
	}})
	return nil
}

// changed returns the settings that differ, so that others that an admin changes at the same time are kept.
func changed(want *countersign.EnvironmentUpdate, fields []Field) (countersign.EnvironmentUpdate, error) {
	all, err := convert[map[string]any](want)
	if err != nil {
		return countersign.EnvironmentUpdate{}, err
	}
	maps.DeleteFunc(all, func(key string, _ any) bool {
		return !slices.ContainsFunc(fields, func(f Field) bool { return root(f.Path) == key })
	})
	return convert[countersign.EnvironmentUpdate](all)
}

// endpoints plans webhook endpoints. They are named by their URL; of several with one URL, equal ones belong together, then the
// others in their order.
func (p *Plan) endpoints(want []countersign.WebhookEndpointUpdate, prune bool) error {
	left := map[string][]int{}
	for i, e := range p.state.Document.WebhookEndpoints {
		left[e.URL] = append(left[e.URL], i)
	}
	var open []countersign.WebhookEndpointUpdate
	for _, w := range want {
		i := slices.IndexFunc(left[w.URL], func(i int) bool {
			fields, err := differences(p.state.Document.WebhookEndpoints[i], w)
			return err == nil && len(fields) == 0
		})
		if i < 0 {
			open = append(open, w)
			continue
		}
		left[w.URL] = slices.Delete(left[w.URL], i, i+1)
	}
	for _, w := range open {
		if err := p.endpoint(w, left); err != nil {
			return err
		}
	}
	for _, url := range slices.Sorted(maps.Keys(left)) {
		for _, i := range left[url] {
			if want != nil {
				p.remove("webhook_endpoints "+url, prune, func(ctx context.Context, m *maker) error {
					return m.api.DeleteWebhookEndpoint(ctx, p.state.endpoints[i].id)
				})
			}
		}
	}
	return nil
}

func (p *Plan) endpoint(w countersign.WebhookEndpointUpdate, left map[string][]int) error {
	entry := "webhook_endpoints " + w.URL
	c := Change{Sign: Add, Entry: entry, make: func(ctx context.Context, m *maker) error { return m.addEndpoint(ctx, entry, w) }}
	var before any = map[string]any{}
	if found := left[w.URL]; len(found) > 0 {
		i := found[0]
		left[w.URL] = found[1:]
		before, c.Sign = p.state.Document.WebhookEndpoints[i], Alter
		c.make = func(ctx context.Context, m *maker) error {
			_, err := m.api.UpdateWebhookEndpoint(ctx, p.state.endpoints[i].id, w)
			return m.done(entry, "changed", err)
		}
	}
	var err error
	if c.Fields, err = differences(before, w); err != nil {
		return err
	}
	p.Changes = append(p.Changes, c)
	return nil
}

// remove plans the removal of an entry, or names it as kept.
func (p *Plan) remove(entry string, prune bool, do func(ctx context.Context, m *maker) error) {
	if !prune {
		p.Kept = append(p.Kept, entry)
		return
	}
	p.Changes = append(p.Changes, Change{Sign: Remove, Entry: entry, make: func(ctx context.Context, m *maker) error {
		return m.done(entry, "removed", do(ctx, m))
	}})
}

// CreatesEndpoints reports whether applying makes webhook endpoints, whose signing secrets are shown once.
func (p *Plan) CreatesEndpoints() bool {
	return slices.ContainsFunc(p.Changes, func(c Change) bool {
		return c.Sign == Add && len(c.Entry) > len("webhook_endpoints") && c.Entry[:len("webhook_endpoints")] == "webhook_endpoints"
	})
}

func root(path string) string {
	for i, r := range path {
		if r == '.' || r == '[' {
			return path[:i]
		}
	}
	return path
}

// errFixed is the refusal of a change that the API does not have.
func errFixed(key, field string, before, after any) error {
	return fmt.Errorf("actions.%s.%s is %v in the file and %v in the environment: it is fixed when an action is created; "+
		"correct the file, or archive the action and apply again", key, field, after, before)
}
