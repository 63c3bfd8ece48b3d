package webhook

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/displaytext"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// MaxEndpoints is the maximum number of endpoints of one environment.
const MaxEndpoints = 50

// Status of an endpoint.
const (
	Enabled  = "enabled"
	Disabled = "disabled"
)

// reasonManual is the disabled_reason of an endpoint that its owner disabled; the others are "failing" and "gone".
const reasonManual = "manual"

// Deps are the dependencies of Endpoints, FanOut and Deliverer. FanOut uses neither Keyring nor Sender, and Deliverer uses no
// Waker: they may be nil there.
type Deps struct {
	Store   *pg.Store
	Clock   clock.Clock
	Keyring *keyring.Keyring // seals the signing secrets
	Sender  *Sender
	Waker   Waker
	Log     *slog.Logger
}

// Endpoints manages the webhook endpoints of relying parties: it creates, changes, tests and replays them.
type Endpoints struct {
	store   *pg.Store
	clock   clock.Clock
	keyring *keyring.Keyring
	sender  *Sender
	waker   Waker
	logger  *slog.Logger
}

// NewEndpoints returns the service that manages endpoints. It requires every dependency.
func NewEndpoints(d Deps) *Endpoints {
	return &Endpoints{store: d.Store, clock: d.Clock, keyring: d.Keyring, sender: d.Sender, waker: d.Waker, logger: d.Log}
}

// Draft is the specification of a new endpoint.
type Draft struct {
	URL         string
	Events      []string // patterns of event types, such as "hold.*"; empty subscribes to every type
	Description string
	// IncludeDetails adds the details of the request to events of holds: they may be personal data, so that it is off by default.
	IncludeDetails bool
}

// Create adds an endpoint and returns it with its signing secret, which cannot be read again.
func (s *Endpoints) Create(ctx context.Context, p identity.Principal, d Draft) (models.WebhookEndpoint, string, error) {
	if err := s.check(&d.URL, d.Events); err != nil {
		return models.WebhookEndpoint{}, "", err
	}
	if err := displaytext.Check("description", d.Description); err != nil {
		return models.WebhookEndpoint{}, "", err
	}
	now := s.clock.Now()
	e := models.WebhookEndpoint{ID: ids.New(ids.WebhookEndpoint), TenantID: p.TenantID, EnvironmentID: p.EnvironmentID, URL: d.URL,
		Description: d.Description, Events: d.Events, Status: Enabled, IncludeDetails: d.IncludeDetails, CreatedAt: now, UpdatedAt: now}
	text, secret, err := newSecret(s.keyring, e.ID, now)
	if err != nil {
		return e, "", err
	}
	err = s.store.Write(ctx, func(q *pg.Q) error {
		made, err := createEndpoint(ctx, q, e, secret, MaxEndpoints)
		if err != nil {
			return err
		}
		if !made {
			return problem.Newf(problem.Conflict, "The environment has %d webhook endpoints, which is the maximum. Delete one first.", MaxEndpoints)
		}
		return s.record(ctx, q, p, nil, &e, func(d changed) events.Data { return d })
	})
	return e, text, err
}

// Get returns an endpoint of the caller's environment, or pg.ErrNotFound.
func (s *Endpoints) Get(ctx context.Context, p identity.Principal, id string) (models.WebhookEndpoint, error) {
	return getEndpoint(ctx, s.store.Q, p.Store(), id)
}

// List returns a page of the environment's endpoints and the cursor of the next page.
func (s *Endpoints) List(ctx context.Context, p identity.Principal, page pg.Page) ([]models.WebhookEndpoint, string, error) {
	return listEndpoints(ctx, s.store.Q, p.Store(), page)
}

// Patch is a change of an endpoint; a nil field is left unchanged.
type Patch struct {
	URL         *string
	Events      *[]string
	Description *string
	Status      *string

	IncludeDetails *bool
}

// Update changes an endpoint. Disabling discards its pending deliveries. Enabling by Update replays nothing, unlike Enable.
func (s *Endpoints) Update(ctx context.Context, p identity.Principal, id string, patch Patch) (models.WebhookEndpoint, error) {
	var patterns []string
	if patch.Events != nil {
		patterns = *patch.Events
	}
	if err := s.check(patch.URL, patterns); err != nil {
		return models.WebhookEndpoint{}, err
	}
	if patch.Description != nil {
		if err := displaytext.Check("description", *patch.Description); err != nil {
			return models.WebhookEndpoint{}, err
		}
	}
	var after models.WebhookEndpoint
	err := s.store.Write(ctx, func(q *pg.Q) error {
		before, err := lockEndpoint(ctx, q, p.Store(), id)
		if err != nil {
			return err
		}
		after = patch.apply(before, s.clock.Now())
		if err := updateEndpoint(ctx, q, after); err != nil {
			return err
		}
		if err := s.switchStatus(ctx, q, before, &after); err != nil {
			return err
		}
		return s.record(ctx, q, p, &before, &after, func(d changed) events.Data { return events.WebhookEndpointUpdatedData(d) })
	})
	if err != nil {
		return after, err
	}
	s.wake(ctx, p, id)
	return after, nil
}

// apply returns e with the changes; its time of change is now.
func (c Patch) apply(e models.WebhookEndpoint, now time.Time) models.WebhookEndpoint {
	if c.URL != nil {
		e.URL = *c.URL
	}
	if c.Events != nil {
		e.Events = *c.Events
	}
	if c.Description != nil {
		e.Description = *c.Description
	}
	if c.Status != nil {
		e.Status = *c.Status
	}
	if c.IncludeDetails != nil {
		e.IncludeDetails = *c.IncludeDetails
	}
	e.UpdatedAt = now
	return e
}

// switchStatus stores a change of status and updates the dependent fields of after.
func (s *Endpoints) switchStatus(ctx context.Context, q *pg.Q, before models.WebhookEndpoint, after *models.WebhookEndpoint) error {
	switch {
	case before.Status == after.Status:
		return nil
	case after.Status == Disabled:
		reason := reasonManual
		after.DisabledReason, after.DisabledAt = &reason, &after.UpdatedAt
		_, err := disableEndpoint(ctx, q, *after, reason, after.UpdatedAt)
		return err
	default:
		after.DisabledReason, after.DisabledAt, after.FailingSince = nil, nil, nil
		_, err := enableEndpoint(ctx, q, after.ID, after.UpdatedAt)
		return err
	}
}

// Delete deletes an endpoint with its pending deliveries.
func (s *Endpoints) Delete(ctx context.Context, p identity.Principal, id string) error {
	return s.store.Write(ctx, func(q *pg.Q) error {
		before, err := lockEndpoint(ctx, q, p.Store(), id)
		if err != nil {
			return err
		}
		if _, err := deleteEndpoint(ctx, q, p.Store(), id, s.clock.Now()); err != nil {
			return err
		}
		return s.record(ctx, q, p, &before, nil, func(d changed) events.Data { return events.WebhookEndpointDeletedData(d) })
	})
}

// Rotate gives an endpoint a new signing secret and returns it. Until the overlap ends, requests carry a signature with each
// of the two. A second rotation within the overlap returns the problem rotation_in_progress.
func (s *Endpoints) Rotate(ctx context.Context, p identity.Principal, id string, overlap time.Duration) (models.WebhookEndpoint, string, error) {
	now := s.clock.Now()
	text, secret, err := newSecret(s.keyring, id, now)
	if err != nil {
		return models.WebhookEndpoint{}, "", err
	}
	var e models.WebhookEndpoint
	err = s.store.Write(ctx, func(q *pg.Q) error {
		if e, err = lockEndpoint(ctx, q, p.Store(), id); err != nil {
			return err
		}
		done, err := rotateSecret(ctx, q, secret, now.Add(overlap))
		if err != nil {
			return err
		}
		if !done {
			return problem.New(problem.RotationInProgress, "The previous secret is still valid. Rotate again when its overlap has ended.")
		}
		return s.record(ctx, q, p, &e, &e, func(d changed) events.Data {
			return events.WebhookSecretRotatedData{Endpoint: d.Endpoint, OverlapSeconds: int(overlap.Seconds()), Change: d.Change}
		})
	})
	return e, text, err
}

// Attempts returns a page of the attempts made for an endpoint and of the deliveries that wait for one.
func (s *Endpoints) Attempts(ctx context.Context, p identity.Principal, id string, f AttemptFilter, page pg.Page) ([]AttemptRow, string, error) {
	e, err := getEndpoint(ctx, s.store.Q, p.Store(), id)
	if err != nil {
		return nil, "", err
	}
	return listAttempts(ctx, s.store.Q, e, f, page)
}

// check validates the URL and the event patterns of an endpoint; a nil URL is not checked.
func (s *Endpoints) check(url *string, patterns []string) error {
	if url != nil {
		if fault := s.sender.policy.CheckURL(*url); fault != "" {
			return problem.Invalid([]any{"body", "url"}, fault, "url_not_allowed")
		}
	}
	for i, pattern := range patterns {
		if !events.KnownPattern(pattern) {
			return problem.Invalid([]any{"body", "events", i}, "Unknown event type. GET /api/v1/event-types lists the types.", "event_type_unknown")
		}
		if slices.Index(patterns, pattern) < i {
			return problem.Invalid([]any{"body", "events", i}, "The type is listed twice.", "duplicate")
		}
	}
	return nil
}

// changed is the data that all events of a changed endpoint have: its id and the digests before and after.
type changed = events.WebhookEndpointCreatedData

// record appends a change of an endpoint to the audit log. Before is nil if the endpoint was created, after if it was deleted.
// Data returns the event with the given fields. The event has digests of the settings before and after, not the settings.
func (s *Endpoints) record(ctx context.Context, q *pg.Q, p identity.Principal, before, after *models.WebhookEndpoint, data func(changed) events.Data) error {
	shown := func(e *models.WebhookEndpoint) any {
		if e == nil {
			return nil
		}
		settings := map[string]any{"url": e.URL, "events": []string(e.Events), "description": e.Description, "status": e.Status}
		if e.IncludeDetails { // left out otherwise: the digests of earlier entries stay comparable
			settings["include_details"] = true
		}
		return settings
	}
	change, err := events.NewChange(shown(before), shown(after))
	if err != nil {
		return err
	}
	e := after
	if e == nil {
		e = before
	}
	return events.Append(ctx, q, events.Entry{
		Scope: p.Store(), At: s.clock.Now(), Actor: p.Actor(), RequestID: p.RequestID, Data: data(changed{Endpoint: e.ID, Change: change}),
	})
}

// wake resets and wakes the endpoint's workflow after a change. A failure is only logged: the sweep finds overdue deliveries.
func (s *Endpoints) wake(ctx context.Context, p identity.Principal, id string) {
	if err := s.waker.WakeEndpoint(ctx, p.EnvironmentID, id, true); err != nil {
		s.logger.LogAttrs(ctx, slog.LevelWarn, "the workflow of a webhook endpoint could not be woken", slog.String("endpoint", id), slog.String("error", err.Error()))
	}
}
