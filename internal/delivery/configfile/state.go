package configfile

import (
	"context"
	"fmt"
	"slices"

	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// State is the configuration of an environment with the ids that its entries have there.
type State struct {
	Document Document
	Kind     string   // sandbox or live
	ID       string   // of the environment
	Notes    []string // what the document cannot say

	actions      map[string]actionState
	endpoints    []endpointState // as in Document
	keys         map[string]string
	teams        map[string]string // ids by key
	lists        map[string]string // ids by name
	destinations map[string]destinationState
}

// actionState is an action in an environment. Active is 0 without an active policy version.
type actionState struct {
	id     string
	active int64
}

type endpointState struct{ id string }

// largestPage is the most entries that a list of the API returns at once.
const largestPage = 100

// manual is the disabled_reason of an endpoint that its owner disabled. The service disables endpoints too, which is no configuration.
const manual = "manual"

// Read reads the configuration of the client's environment. The key needs the scope admin, or config.read, webhooks and credentials.
func Read(ctx context.Context, api *countersign.Client) (*State, error) {
	env, err := api.GetEnvironment(ctx)
	if err != nil {
		return nil, err
	}
	s := &State{Kind: env.Kind, ID: env.ID, actions: map[string]actionState{}}
	s.Document = Document{Version: formatVersion, Actions: map[string]Action{}, WebhookEndpoints: []countersign.WebhookEndpointUpdate{}}
	settings, err := convert[countersign.EnvironmentUpdate](env)
	if err != nil {
		return nil, err
	}
	if settings.PageOrigin == nil {
		settings.PageOrigin = new(string)
	}
	s.Document.Environment = &settings
	if err := s.readKeys(ctx, api); err != nil {
		return nil, err
	}
	if err := s.readTeams(ctx, api); err != nil {
		return nil, err
	}
	if err := s.readLists(ctx, api); err != nil {
		return nil, err
	}
	if err := s.readDestinations(ctx, api); err != nil {
		return nil, err
	}
	for a, err := range api.AllActions(ctx, countersign.ListActionsParams{Limit: largestPage}) {
		if err != nil {
			return nil, err
		}
		if err := s.readAction(ctx, api, a); err != nil {
			return nil, err
		}
	}
	return s, s.readEndpoints(ctx, api)
}

// readKeys reads the names of the environment's keys. One that several active keys have names none of them.
func (s *State) readKeys(ctx context.Context, api *countersign.Client) error {
	s.keys = map[string]string{}
	twice := map[string]bool{}
	for c, err := range api.AllCredentials(ctx, countersign.ListCredentialsParams{Limit: largestPage}) {
		if err != nil {
			return err
		}
		if c.RevokedAt != nil || c.Name == "" || c.Scope == countersign.CredentialScopeClient {
			continue
		}
		twice[c.Name] = s.keys[c.Name] != ""
		s.keys[c.Name] = c.ID
	}
	for name, is := range twice {
		if is {
			delete(s.keys, name)
		}
	}
	return nil
}

func (s *State) readAction(ctx context.Context, api *countersign.Client, a countersign.ProtectedAction) error {
	out := Action{
		Name: a.Name, Consequence: a.Consequence, Labels: a.Labels, Mode: string(a.Mode), RiskClass: string(a.RiskClass), ResourceType: a.ResourceType,
		AllowedAudiences: a.AllowedAudiences, AllowedCallers: a.AllowedCallers, ProofTTLSeconds: a.ProofTTLSeconds, ContextSchema: a.ContextSchema,
	}
	state := actionState{id: a.ID}
	if a.ActivePolicyVersion != nil {
		state.active = *a.ActivePolicyVersion
		v, err := api.GetPolicyVersion(ctx, a.ID, state.active)
		if err != nil {
			return err
		}
		out.AllowedAudiences, out.AllowedCallers, out.ProofTTLSeconds = v.AllowedAudiences, v.AllowedCallers, v.ProofTTLSeconds
		out.ContextSchema, out.Requirements = v.ContextSchema, &v.Requirements
	}
	out.AllowedCallers = s.named(a.Key, out.AllowedCallers)
	s.Document.Actions[a.Key], s.actions[a.Key] = out, state
	return nil
}

// named replaces ids of keys by their names.
func (s *State) named(action string, ids []string) []string {
	out := slices.Clone(ids)
	for i, id := range ids {
		found := false
		for name, of := range s.keys {
			if of == id {
				out[i], found = name, true
			}
		}
		if !found {
			s.Notes = append(s.Notes, fmt.Sprintf("actions.%s.allowed_callers[%d] is the id %s: no active key of that id has a name of its own; "+
				"another environment needs its own key there", action, i, id))
		}
	}
	return out
}

func (s *State) readEndpoints(ctx context.Context, api *countersign.Client) error {
	var all []countersign.WebhookEndpoint
	for e, err := range api.AllWebhookEndpoints(ctx, countersign.ListWebhookEndpointsParams{Limit: largestPage}) {
		if err != nil {
			return err
		}
		all = append(all, e)
	}
	slices.SortStableFunc(all, func(a, b countersign.WebhookEndpoint) int {
		return slices.Compare([]string{a.URL, a.Description}, []string{b.URL, b.Description})
	})
	for _, e := range all {
		status := e.Status
		if e.DisabledReason != "" && e.DisabledReason != manual {
			status = "enabled"
		}
		s.Document.WebhookEndpoints = append(s.Document.WebhookEndpoints, countersign.WebhookEndpointUpdate{
			URL: e.URL, Events: e.Events, Description: &e.Description, IncludeDetails: &e.IncludeDetails, Status: status,
		})
		s.endpoints = append(s.endpoints, endpointState{e.ID})
	}
	return nil
}

// ids replaces names of keys by their ids in this environment. A name that begins with crd_ is an id.
func (s *State) ids(action string, names []string) ([]string, error) {
	out := slices.Clone(names)
	for i, name := range names {
		id, known := s.keys[name]
		switch {
		case known:
			out[i] = id
		case len(name) < 4 || name[:4] != "crd_":
			return nil, fmt.Errorf("actions.%s.allowed_callers[%d] is %q: the environment must have exactly one active key of that name; "+
				"create it (countersign credential create --name) or correct the file", action, i, name)
		}
	}
	return out, nil
}
