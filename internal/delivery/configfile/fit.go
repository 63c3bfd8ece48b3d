package configfile

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

const live = "live"

// canonical returns the document in the forms in which the service stores what it has.
func (d Document) canonical() (Document, error) {
	if d.Environment != nil {
		given, err := convert[tenancy.Settings](d.Environment)
		if err != nil {
			return d, err
		}
		env, err := convert[countersign.EnvironmentUpdate](tenancy.Canonical(given))
		if err != nil {
			return d, err
		}
		d.Environment = &env
	}
	d.Teams, d.Lists = maps.Clone(d.Teams), maps.Clone(d.Lists)
	for key, t := range d.Teams {
		t.Name = strings.TrimSpace(t.Name)
		d.Teams[key] = t
	}
	for name, l := range d.Lists {
		l.Description = strings.TrimSpace(l.Description)
		d.Lists[name] = l
	}
	return d, nil
}

// fit returns the document as it can be in an environment of that kind, and what was left out: a live environment has no
// localhost and no sandbox_confirm.
func (d Document) fit(kind string) (Document, []string, error) {
	var notes []string
	if d.Environment != nil && kind == live {
		env := *d.Environment
		local := slices.ContainsFunc(env.Origins, isLocal)
		if env.Origins = slices.DeleteFunc(slices.Clone(env.Origins), isLocal); local {
			notes = append(notes, "environment.origins: origins on this machine are left out, which a live environment does not have")
		}
		if len(env.Origins) == 0 {
			env.Origins = nil // keeps those of the environment
		}
		if env.PageOrigin != nil && isLocal(*env.PageOrigin) {
			env.PageOrigin = nil
			notes = append(notes, "environment.page_origin is on this machine and left out")
		}
		d.Environment = &env
	}
	actions := map[string]Action{}
	for key, a := range d.Actions {
		if a.Requirements != nil {
			resolved, dropped, err := resolve(a.Requirements, kind)
			if err != nil {
				return d, nil, fmt.Errorf("actions.%s.requirements: %w", key, err)
			}
			if dropped {
				notes = append(notes, fmt.Sprintf("actions.%s: sandbox_confirm is left out of challenge_methods, which a live environment does not have", key))
			}
			a.Requirements = resolved
		}
		actions[key] = a
	}
	if d.Actions != nil {
		d.Actions = actions
	}
	return d, notes, nil
}

// resolve fills in the defaults as the service does, so that a file may leave them out.
func resolve(in *countersign.PolicyRequirements, kind string) (*countersign.PolicyRequirements, bool, error) {
	r, err := convert[policy.Requirements](in)
	if err != nil {
		return nil, false, err
	}
	dropped := false
	confirm := func(methods []policy.Method) ([]policy.Method, error) {
		left := slices.DeleteFunc(slices.Clone(methods), func(m policy.Method) bool { return m == policy.SandboxConfirm })
		if kind != live || len(left) == len(methods) {
			return methods, nil
		}
		if dropped = true; len(left) == 0 {
			return nil, fmt.Errorf("challenge_methods offers sandbox_confirm alone, which a live environment does not have; add passkey")
		}
		return left, nil
	}
	if r.ChallengeMethods, err = confirm(r.ChallengeMethods); err != nil {
		return nil, false, err
	}
	for i := range r.Rules {
		if r.Rules[i].Requirements.ChallengeMethods, err = confirm(r.Rules[i].Requirements.ChallengeMethods); err != nil {
			return nil, false, fmt.Errorf("rules[%d].%w", i, err)
		}
	}
	out, err := convert[countersign.PolicyRequirements](r.Resolve(policy.EnvironmentKind(kind)))
	return &out, dropped, err
}

// isLocal reports whether an origin is on the machine of its user.
func isLocal(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || strings.HasSuffix(u.Hostname(), ".localhost") || ip != nil && ip.IsLoopback()
}
