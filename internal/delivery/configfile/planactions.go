package configfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/rules"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// actions plans the actions in the order of their keys.
func (p *Plan) actions(want map[string]Action, prune bool) error {
	var faults []error
	for _, key := range slices.Sorted(maps.Keys(want)) {
		var err error
		if have, exists := p.state.Document.Actions[key]; exists {
			err = p.change(key, have, want[key])
		} else {
			err = p.create(key, want[key])
		}
		faults = append(faults, err)
	}
	for _, key := range slices.Sorted(maps.Keys(p.state.Document.Actions)) {
		if _, named := want[key]; !named && want != nil {
			p.remove("actions."+key, prune, func(ctx context.Context, m *maker) error { return m.api.ArchiveAction(ctx, p.state.actions[key].id) })
		}
	}
	return errors.Join(faults...)
}

func (p *Plan) create(key string, w Action) error {
	entry := "actions." + key
	if w.Name == "" || w.Consequence == "" || len(w.AllowedAudiences) == 0 {
		return fmt.Errorf("%s does not exist in the environment: to create it, the file needs its name, consequence and allowed_audiences", entry)
	}
	callers, err := p.state.ids(key, w.AllowedCallers)
	if err != nil {
		return err
	}
	fields, err := differences(map[string]any{}, w)
	if err != nil {
		return err
	}
	body := countersign.ActionCreate{
		Key: key, Name: w.Name, Consequence: w.Consequence, Labels: w.Labels, AllowedAudiences: w.AllowedAudiences, AllowedCallers: callers,
		ContextSchema: w.ContextSchema, ProofTTLSeconds: w.ProofTTLSeconds, ResourceType: w.ResourceType, RiskClass: w.RiskClass,
	}
	warnings, err := warningsOf(w)
	if err != nil {
		return err
	}
	p.Changes = append(p.Changes, Change{Sign: Add, Entry: entry, Fields: fields, warnings: warnings, make: func(ctx context.Context, m *maker) error {
		made, err := m.api.CreateAction(ctx, body)
		if err := m.done(entry, "created", err); err != nil {
			return err
		}
		after := w
		after.AllowedCallers = callers
		return m.action(ctx, entry, actionChange{id: made.ID, mode: string(made.Mode), policy: w.Requirements != nil, after: after})
	}})
	return nil
}

func (p *Plan) change(key string, have, w Action) error {
	fields, err := differences(have, w)
	if err != nil || len(fields) == 0 {
		return err
	}
	c := actionChange{id: p.state.actions[key].id, mode: have.Mode, active: p.state.actions[key].active}
	for _, f := range fields {
		switch root(f.Path) {
		case "risk_class", "resource_type":
			return errFixed(key, f.Path, f.Before, f.After)
		case "name", "consequence", "labels":
			c.texts = true
		case "mode":
		default:
			c.policy = true
		}
	}
	c.after = overlaid(have, w)
	c.after.Labels = w.Labels // those that the file has not may translate an earlier text
	if c.policy && c.after.Requirements == nil {
		return fmt.Errorf("actions.%s has no active policy version, and its %s changes with one: add requirements to the file", key, fields[0].Path)
	}
	if c.after.AllowedCallers, err = p.state.ids(key, c.after.AllowedCallers); err != nil {
		return err
	}
	entry := "actions." + key
	out := Change{Sign: Alter, Entry: entry, Fields: fields, make: func(ctx context.Context, m *maker) error { return m.action(ctx, entry, c) }}
	if c.policy {
		if out.warnings, err = warningsOf(c.after); err != nil {
			return err
		}
	}
	// A version cannot name a team or a list that is yet to be created.
	early := false
	if c.policy {
		if early, err = p.readsNewList(c.after); err != nil {
			return err
		}
	}
	if c.policy && c.active > 0 && !early && !named(c.after.Requirements, p.newTeams()) {
		out.simulate = func(ctx context.Context) (*countersign.PolicySimulation, error) { return c.simulation(ctx, p.api) }
	}
	p.Changes = append(p.Changes, out)
	return nil
}

// warningsOf returns the warnings of the service about a policy, whose defaults are filled in; none for no policy.
func warningsOf(a Action) ([]policy.Warning, error) {
	if a.Requirements == nil {
		return nil, nil
	}
	in, err := convert[policy.Requirements](a.Requirements)
	return rules.Warnings(in, a.ContextSchema), err
}

// overlaid returns what an action is with the properties that a file gives.
func overlaid(have, w Action) Action {
	out := have
	if w.Name != "" {
		out.Name = w.Name
	}
	if w.Consequence != "" {
		out.Consequence = w.Consequence
	}
	if w.Mode != "" {
		out.Mode = w.Mode
	}
	if w.AllowedAudiences != nil {
		out.AllowedAudiences = w.AllowedAudiences
	}
	if w.AllowedCallers != nil {
		out.AllowedCallers = w.AllowedCallers
	}
	if w.ProofTTLSeconds != 0 {
		out.ProofTTLSeconds = w.ProofTTLSeconds
	}
	if w.ContextSchema != nil {
		out.ContextSchema = w.ContextSchema
	}
	if w.Requirements != nil {
		out.Requirements = w.Requirements
	}
	return out
}

// actionChange is a change of an action. After has the ids of keys.
type actionChange struct {
	id     string
	mode   string // in force
	active int64  // policy version in force; 0 for none
	texts  bool   // the name or the consequence changes
	policy bool   // the content of the policy changes
	after  Action
}

// draft returns a draft with the content that the action is to have: a new one unless there is one, so that applying again while a
// change waits for its approval requests the same change.
func (c actionChange) draft(ctx context.Context, api *countersign.Client, reason string) (int64, error) {
	body := countersign.PolicyVersionCreate{
		Requirements: *c.after.Requirements, AllowedAudiences: c.after.AllowedAudiences, AllowedCallers: c.after.AllowedCallers,
		ContextSchema: c.after.ContextSchema, Reason: reason,
	}
	if c.after.ProofTTLSeconds != 0 {
		body.ProofTTLSeconds = &c.after.ProofTTLSeconds
	}
	for v, err := range api.AllPolicyVersions(ctx, c.id, countersign.ListPolicyVersionsParams{Limit: largestPage}) {
		if err != nil {
			return 0, err
		}
		if v.Status == "draft" && c.equals(v) {
			return v.Version, nil
		}
	}
	v, err := api.CreatePolicyVersion(ctx, c.id, body)
	if err != nil {
		return 0, err
	}
	return v.Version, nil
}

func (c actionChange) equals(v countersign.PolicyVersion) bool {
	a := c.after
	content := func(audiences, callers []string, ttl int64, schema map[string]any, r *countersign.PolicyRequirements) []byte {
		plain, err := convert[map[string]any](Action{AllowedAudiences: audiences, AllowedCallers: callers, ProofTTLSeconds: ttl, ContextSchema: schema, Requirements: r})
		if err != nil {
			return nil
		}
		return form(plain)
	}
	want := content(a.AllowedAudiences, a.AllowedCallers, a.ProofTTLSeconds, a.ContextSchema, a.Requirements)
	return bytes.Equal(want, content(v.AllowedAudiences, v.AllowedCallers, v.ProofTTLSeconds, v.ContextSchema, &v.Requirements))
}

// simulated is how many stored decisions a simulation decides again, the newest ones.
const simulated = 1000

func (c actionChange) simulation(ctx context.Context, api *countersign.Client) (*countersign.PolicySimulation, error) {
	version, err := c.draft(ctx, api, "")
	if err != nil {
		return nil, err
	}
	return api.SimulatePolicyVersion(ctx, c.id, version, &countersign.PolicySimulationRequest{Last: simulated})
}
