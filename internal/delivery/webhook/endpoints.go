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
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// MaxEndpoints bounds the endpoints of one environment.
const MaxEndpoints = 50

// Status of an endpoint.
const (
	Enabled  = "enabled"
	Disabled = "disabled"
)

// reasonManual is the disabled_reason of an endpoint that its owner disabled.
const reasonManual = "manual"

// Deps are the dependencies of Endpoints, FanOut and Deliverer. FanOut uses neither Keyring nor Sender, and Deliverer uses no
// Waker: they may be nil there.
type Deps struct {
	Store   *store.Store
	Clock   clock.Clock
	Keyring *keyring.Keyring // seals the signing secrets
	Sender  *Sender
	Waker   Waker
	Log     *slog.Logger
}

// Endpoints manages the webhook endpoints of relying parties: it creates, changes, tests and replays them.
type Endpoints struct {
	store   *store.Store
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

// Draft is an endpoint to be made. No events means every type.
type Draft struct {
	URL         string
	Events      []string
	Description string
}

// Create makes an endpoint and returns its signing secret, which is not shown again.
func (s *Endpoints) Create(ctx context.Context, p identity.Principal, d Draft) (models.WebhookEndpoint, string, error) {
	if err := s.check(&d.URL, d.Events); err != nil {
		return models.WebhookEndpoint{}, "", err
	}
	if err := displaytext.Check("description", d.Description); err != nil {
		return models.WebhookEndpoint{}, "", err
	}
	now := s.clock.Now()
	e := models.WebhookEndpoint{ID: ids.New(ids.WebhookEndpoint), TenantID: p.TenantID, EnvironmentID: p.EnvironmentID, URL: d.URL,
		Description: d.Description, Events: d.Events, Status: Enabled, CreatedAt: now, UpdatedAt: now}
	text, secret, err := newSecret(s.keyring, e.ID, now)
	if err != nil {
		return e, "", err
	}
	err = s.store.Write(ctx, func(q *store.Q) error {
		made, err := q.Endpoints().Create(ctx, e, secret, MaxEndpoints)
		if err != nil {
			return err
		}
		if !made {
			return problem.Newf(problem.Conflict, "The environment has %d webhook endpoints, which is the most it may have.", MaxEndpoints)
		}
		return s.log(ctx, q, p, events.WebhookEndpointCreated, nil, &e, nil)
	})
	return e, text, err
}

// Get finds an endpoint.
func (s *Endpoints) Get(ctx context.Context, p identity.Principal, id string) (models.WebhookEndpoint, error) {
	return s.store.Endpoints().Get(ctx, p.Store(), id)
}

// List lists the environment's endpoints.
func (s *Endpoints) List(ctx context.Context, p identity.Principal, page store.Page) ([]models.WebhookEndpoint, string, error) {
	return s.store.Endpoints().List(ctx, p.Store(), page)
}

// Patch is what to change of an endpoint; nil keeps a value.
type Patch struct {
	URL         *string
	Events      *[]string
	Description *string
	Status      *string
}

// Update changes an endpoint. Disabling discards what is still owed to it; enabling here replays nothing.
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
	err := s.store.Write(ctx, func(q *store.Q) error {
		before, err := q.Endpoints().Lock(ctx, p.Store(), id)
		if err != nil {
			return err
		}
		after = patch.apply(before, s.clock.Now())
		if err := q.Endpoints().Change(ctx, after); err != nil {
			return err
		}
		if err := s.switchStatus(ctx, q, before, &after); err != nil {
			return err
		}
		return s.log(ctx, q, p, events.WebhookEndpointUpdated, &before, &after, nil)
	})
	if err != nil {
		return after, err
	}
	s.wake(ctx, p, id)
	return after, nil
}

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
	e.UpdatedAt = now
	return e
}

// switchStatus carries out a change of status and shows it in after.
func (s *Endpoints) switchStatus(ctx context.Context, q *store.Q, before models.WebhookEndpoint, after *models.WebhookEndpoint) error {
	switch {
	case before.Status == after.Status:
		return nil
	case after.Status == Disabled:
		reason := reasonManual
		after.DisabledReason, after.DisabledAt = &reason, &after.UpdatedAt
		_, err := q.Endpoints().Disable(ctx, after.ID, reason, after.UpdatedAt)
		return err
	default:
		after.DisabledReason, after.DisabledAt, after.FailingSince = nil, nil, nil
		_, err := q.Endpoints().Enable(ctx, after.ID, after.UpdatedAt)
		return err
	}
}

// Delete deletes an endpoint.
func (s *Endpoints) Delete(ctx context.Context, p identity.Principal, id string) error {
	return s.store.Write(ctx, func(q *store.Q) error {
		before, err := q.Endpoints().Lock(ctx, p.Store(), id)
		if err != nil {
			return err
		}
		if _, err := q.Endpoints().Delete(ctx, p.Store(), id, s.clock.Now()); err != nil {
			return err
		}
		return s.log(ctx, q, p, events.WebhookEndpointDeleted, &before, nil, nil)
	})
}

// Rotate gives an endpoint a new secret. Until overlap is over, both sign.
func (s *Endpoints) Rotate(ctx context.Context, p identity.Principal, id string, overlap time.Duration) (models.WebhookEndpoint, string, error) {
	now := s.clock.Now()
	text, secret, err := newSecret(s.keyring, id, now)
	if err != nil {
		return models.WebhookEndpoint{}, "", err
	}
	var e models.WebhookEndpoint
	err = s.store.Write(ctx, func(q *store.Q) error {
		if e, err = q.Endpoints().Lock(ctx, p.Store(), id); err != nil {
			return err
		}
		done, err := q.Endpoints().RotateSecret(ctx, secret, now.Add(overlap))
		if err != nil {
			return err
		}
		if !done {
			return problem.New(problem.RotationInProgress, "The secret before the last one is still good. Rotate again when its overlap is over.")
		}
		return s.log(ctx, q, p, events.WebhookSecretRotated, &e, &e, map[string]any{"overlap_seconds": int(overlap.Seconds())})
	})
	return e, text, err
}

// Attempts lists the tries made for an endpoint, and the deliveries that wait for one.
func (s *Endpoints) Attempts(ctx context.Context, p identity.Principal, id string, f store.AttemptFilter, page store.Page) ([]store.AttemptRow, string, error) {
	if _, err := s.store.Endpoints().Get(ctx, p.Store(), id); err != nil {
		return nil, "", err
	}
	return s.store.Deliveries().Attempts(ctx, id, f, page)
}

func (s *Endpoints) check(url *string, patterns []string) error {
	if url != nil {
		if fault := s.sender.policy.CheckURL(*url); fault != "" {
			return problem.Invalid([]any{"body", "url"}, fault, "url_not_allowed")
		}
	}
	for i, pattern := range patterns {
		if !events.KnownPattern(pattern) {
			return problem.Invalid([]any{"body", "events", i}, "There is no such type of event; see GET /api/v1/event-types.", "event_type_unknown")
		}
		if slices.Index(patterns, pattern) < i {
			return problem.Invalid([]any{"body", "events", i}, "The type is listed twice.", "duplicate")
		}
	}
	return nil
}

// log appends a change of an endpoint to the audit log.
func (s *Endpoints) log(ctx context.Context, q *store.Q, p identity.Principal, t events.Type, before, after *models.WebhookEndpoint, data map[string]any) error {
	shown := func(e *models.WebhookEndpoint) any {
		if e == nil {
			return nil
		}
		return map[string]any{"url": e.URL, "events": []string(e.Events), "description": e.Description, "status": e.Status}
	}
	data, err := events.Between(data, shown(before), shown(after))
	if err != nil {
		return err
	}
	for _, e := range []*models.WebhookEndpoint{before, after} {
		if e != nil {
			data["endpoint"] = e.ID
		}
	}
	return events.Append(ctx, q, events.Entry{Scope: p.Store(), Type: t, At: s.clock.Now(), Actor: p.Actor(), RequestID: p.RequestID, Data: data})
}

// wake asks the endpoint's sender to look with fresh eyes. That it cannot be reached is no error: the sweep finds what waits.
func (s *Endpoints) wake(ctx context.Context, p identity.Principal, id string) {
	if err := s.waker.WakeEndpoint(ctx, p.EnvironmentID, id, true); err != nil {
		s.logger.LogAttrs(ctx, slog.LevelWarn, "a webhook sender could not be woken", slog.String("endpoint", id), slog.String("error", err.Error()))
	}
}
