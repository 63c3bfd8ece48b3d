package change

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// Endpoint has settings of a webhook endpoint. Nil ones are left as they are, or have their defaults in a new endpoint.
type Endpoint struct {
	URL         *string   `json:"url,omitempty"`
	Events      *[]string `json:"events,omitempty"` // patterns of event types, such as "hold.*"; empty subscribes to every type
	Description *string   `json:"description,omitempty"`
	Status      *string   `json:"status,omitempty"`
	// IncludeDetails adds the details of the request to events of holds: they may be personal data, so that it is off by default.
	IncludeDetails *bool `json:"include_details,omitempty"`
}

// Of returns the values in e of the settings that other has.
func (e Endpoint) Of(other Endpoint) Endpoint {
	return Endpoint{
		URL: given(other.URL, e.URL), Events: given(other.Events, e.Events), Description: given(other.Description, e.Description),
		Status: given(other.Status, e.Status), IncludeDetails: given(other.IncludeDetails, e.IncludeDetails),
	}
}

func given[T any](field, value *T) *T {
	if field == nil {
		return nil
	}
	return value
}

// CreatedEndpoint is a new endpoint with its signing secret, which cannot be read again.
type CreatedEndpoint struct {
	models.WebhookEndpoint
	Secret string
}

// Endpoints makes the changes of webhook endpoints (webhook.Endpoints). Create and Update are refused with tenancy.ErrSecondApprover as the
// cause if the environment requires a second approver and more than the status changes.
type Endpoints interface {
	Create(ctx context.Context, p identity.Principal, e Endpoint) (models.WebhookEndpoint, string, error)
	Update(ctx context.Context, p identity.Principal, id string, e Endpoint) (models.WebhookEndpoint, error)
	// Check refuses settings that no endpoint may have.
	Check(e Endpoint) error
	// Settings returns those of an endpoint, and locks it until the transaction ends if lock is set.
	Settings(ctx context.Context, q *pg.Q, s pg.Scope, id string, lock bool) (Endpoint, error)
	// MakeIn creates an endpoint, or updates the one with an id, in the caller's transaction. It returns what to do after the commit.
	MakeIn(ctx context.Context, q *pg.Q, by action.Author, id string, e Endpoint) (func(), error)
}

// CreateEndpoint creates a webhook endpoint, or requests that: it sends what happens in the environment to its URL.
func (s *Service) CreateEndpoint(ctx context.Context, p identity.Principal, e Endpoint) (Made[CreatedEndpoint], error) {
	created, secret, err := s.endpoints.Create(ctx, p, e)
	return made(CreatedEndpoint{created, secret}, err, func() (*View, error) {
		return s.propose(ctx, p, func(*pg.Q) (proposal, error) { return endpointProposal(models.ChangeWebhookCreate, "", Endpoint{}, e) })
	})
}

// UpdateEndpoint changes a webhook endpoint, or requests that as a whole.
func (s *Service) UpdateEndpoint(ctx context.Context, p identity.Principal, id string, e Endpoint) (Made[models.WebhookEndpoint], error) {
	updated, err := s.endpoints.Update(ctx, p, id, e)
	return made(updated, err, func() (*View, error) {
		return s.propose(ctx, p, func(q *pg.Q) (proposal, error) {
			current, err := found(s.endpoints.Settings(ctx, q, p.Store(), id, false))
			if err != nil {
				return proposal{}, err
			}
			return endpointProposal(models.ChangeWebhookUpdate, id, current.Of(e), e)
		})
	})
}

func endpointProposal(kind models.ChangeKind, target string, base, proposed Endpoint) (proposal, error) {
	differences, err := fieldDifferences(base, proposed)
	return proposal{kind: kind, target: target, base: base, proposed: proposed, differences: differences}, err
}

// isEndpoint reports whether a change request is about a webhook endpoint.
func isEndpoint(k models.ChangeKind) bool {
	return k == models.ChangeWebhookCreate || k == models.ChangeWebhookUpdate
}

func (s *Service) settingsOf(lock bool) func(context.Context, *pg.Q, pg.Scope, string) (Endpoint, error) {
	return func(ctx context.Context, q *pg.Q, scope pg.Scope, id string) (Endpoint, error) {
		return s.endpoints.Settings(ctx, q, scope, id, lock)
	}
}

// endpointBase is inForce of a change of a webhook endpoint.
func (t targets) endpointBase(ctx context.Context, c models.Change) (any, bool, error) {
	var proposed Endpoint
	if err := json.Unmarshal(c.Proposed, &proposed); err != nil || c.Kind == models.ChangeWebhookCreate {
		return Endpoint{}, err == nil, err
	}
	current, err := t.endpoint(ctx, t.Q, scopeOf(c), c.Target)
	if errors.Is(err, pg.ErrNotFound) {
		return nil, false, nil
	}
	return current.Of(proposed), err == nil, err
}

// applyEndpoint makes a change of a webhook endpoint in the caller's transaction. The settings are checked again.
func (s *Service) applyEndpoint(ctx context.Context, q *pg.Q, c models.Change, by action.Author) (func(), error) {
	var in Endpoint
	if err := json.Unmarshal(c.Proposed, &in); err != nil {
		return nil, err
	}
	return s.endpoints.MakeIn(ctx, q, by, c.Target, in)
}
