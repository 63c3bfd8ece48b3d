package webhook

import (
	"context"
	"log/slog"
	"reflect"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/change"
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
	Tracing trace.TracerProvider // nil: no traces
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

// Create adds an endpoint, whose URL is given, and returns it with its signing secret, which cannot be read again.
func (s *Endpoints) Create(ctx context.Context, p identity.Principal, d change.Endpoint) (models.WebhookEndpoint, string, error) {
	by := s.author(p)
	var e models.WebhookEndpoint
	var secret string
	if err := s.Check(d); err != nil {
		return e, "", err
	}
	err := s.store.Write(ctx, func(q *pg.Q) error {
		err := tenancy.RefuseAlone(ctx, q, by.Scope)
		if err != nil {
			return err
		}
		e, secret, err = s.create(ctx, q, by, d)
		return err
	})
	return e, secret, err
}

// author is the caller as the author of a change now.
func (s *Endpoints) author(p identity.Principal) action.Author {
	return action.Author{Scope: p.Store(), Actor: p.Actor(), RequestID: p.RequestID, At: s.clock.Now()}
}

func (s *Endpoints) create(ctx context.Context, q *pg.Q, by action.Author, d change.Endpoint) (models.WebhookEndpoint, string, error) {
	e := apply(models.WebhookEndpoint{
		ID: ids.New(ids.WebhookEndpoint), TenantID: by.Scope.Tenant, EnvironmentID: by.Scope.Environment, Status: Enabled, CreatedAt: by.At,
	}, d, by.At)
	text, secret, err := newSecret(s.keyring, e.ID, by.At)
	if err != nil {
		return e, "", err
	}
	made, err := createEndpoint(ctx, q, e, secret, MaxEndpoints)
	if err != nil {
		return e, "", err
	}
	if !made {
		return e, "", problem.Newf(problem.Conflict, "The environment has %d webhook endpoints, which is the maximum. Delete one first.", MaxEndpoints)
	}
	return e, text, record(ctx, q, by, nil, &e, func(d changed) events.Data { return d })
}

// Get returns an endpoint of the caller's environment, or pg.ErrNotFound.
func (s *Endpoints) Get(ctx context.Context, p identity.Principal, id string) (models.WebhookEndpoint, error) {
	return getEndpoint(ctx, s.store.AsStored(), p.Store(), id)
}

// List returns a page of the environment's endpoints and the cursor of the next page.
func (s *Endpoints) List(ctx context.Context, p identity.Principal, page pg.Page) ([]models.WebhookEndpoint, string, error) {
	return listEndpoints(ctx, s.store.AsStored(), p.Store(), page)
}

// Update changes an endpoint. Disabling discards its pending deliveries. Enabling by Update replays nothing, unlike Enable.
func (s *Endpoints) Update(ctx context.Context, p identity.Principal, id string, patch change.Endpoint) (models.WebhookEndpoint, error) {
	if err := s.Check(patch); err != nil {
		return models.WebhookEndpoint{}, err
	}
	by := s.author(p)
	var after models.WebhookEndpoint
	err := s.store.Write(ctx, func(q *pg.Q) error {
		if patch.Status != nil && *patch.Status == Disabled && patch == (change.Endpoint{Status: patch.Status}) {
			q = q.AsStored()
		}
		before, err := lockEndpoint(ctx, q, by.Scope, id)
		if err != nil {
			return err
		}
		// The URL was approved, so that one principal may switch it off and on.
		now, then := settingsOf(before), settingsOf(apply(before, patch, by.At))
		now.Status, then.Status = nil, nil
		if !reflect.DeepEqual(now, then) {
			if err := tenancy.RefuseAlone(ctx, q, by.Scope); err != nil {
				return err
			}
		}
		after, err = s.update(ctx, q, by, before, patch)
		return err
	})
	if err != nil {
		return after, err
	}
	s.wake(ctx, by.Scope.Environment, id)
	return after, nil
}

// update changes an endpoint whose row is locked.
func (s *Endpoints) update(ctx context.Context, q *pg.Q, by action.Author, before models.WebhookEndpoint, patch change.Endpoint) (models.WebhookEndpoint, error) {
	after := apply(before, patch, by.At)
	if err := updateEndpoint(ctx, q, after); err != nil {
		return after, err
	}
	if err := s.switchStatus(ctx, q, before, &after); err != nil {
		return after, err
	}
	return after, record(ctx, q, by, &before, &after, func(d changed) events.Data { return events.WebhookEndpointUpdatedData(d) })
}

// Settings returns the settings of an endpoint, or pg.ErrNotFound, and locks it until the transaction ends if lock is set.
func (s *Endpoints) Settings(ctx context.Context, q *pg.Q, scope pg.Scope, id string, lock bool) (change.Endpoint, error) {
	get := getEndpoint
	if lock {
		get = lockEndpoint
	}
	e, err := get(ctx, q, scope, id)
	return settingsOf(e), err
}

// MakeIn makes a change that a second principal has approved, in the caller's transaction: it creates an endpoint, or updates the one with
// an id. No one has seen the signing secret of a new one: a rotation returns the first that is used.
func (s *Endpoints) MakeIn(ctx context.Context, q *pg.Q, by action.Author, id string, in change.Endpoint) (func(), error) {
	if err := s.Check(in); err != nil {
		return nil, err
	}
	if id == "" {
		_, _, err := s.create(ctx, q, by, in)
		return func() {}, err
	}
	before, err := lockEndpoint(ctx, q, by.Scope, id)
	if err != nil {
		return nil, err
	}
	_, err = s.update(ctx, q, by, before, in)
	return func() { s.wake(context.WithoutCancel(ctx), by.Scope.Environment, id) }, err
}

func settingsOf(e models.WebhookEndpoint) change.Endpoint {
	patterns := append([]string{}, e.Events...)
	if len(patterns) == 0 {
		patterns = []string{"*"}
	}
	return change.Endpoint{URL: &e.URL, Events: &patterns, Description: &e.Description, Status: &e.Status, IncludeDetails: &e.IncludeDetails}
}

// apply returns e with the changes; its time of change is now.
func apply(e models.WebhookEndpoint, c change.Endpoint, now time.Time) models.WebhookEndpoint {
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
		return enableEndpoint(ctx, q, after.ID, after.UpdatedAt)
	}
}

// Delete deletes an endpoint with its pending deliveries.
func (s *Endpoints) Delete(ctx context.Context, p identity.Principal, id string) error {
	return s.store.Write(ctx, func(q *pg.Q) error {
		q = q.AsStored()
		before, err := lockEndpoint(ctx, q, p.Store(), id)
		if err != nil {
			return err
		}
		if _, err := deleteEndpoint(ctx, q, p.Store(), id, s.clock.Now()); err != nil {
			return err
		}
		return record(ctx, q, s.author(p), &before, nil, func(d changed) events.Data { return events.WebhookEndpointDeletedData(d) })
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
		return record(ctx, q, s.author(p), &e, &e, func(d changed) events.Data {
			return events.WebhookSecretRotatedData{Endpoint: d.Endpoint, OverlapSeconds: int(overlap.Seconds()), Change: d.Change}
		})
	})
	return e, text, err
}

// Attempts returns a page of the attempts made for an endpoint and of the deliveries that wait for one.
func (s *Endpoints) Attempts(ctx context.Context, p identity.Principal, id string, f AttemptFilter, page pg.Page) ([]AttemptRow, string, error) {
	e, err := getEndpoint(ctx, s.store.AsStored(), p.Store(), id)
	if err != nil {
		return nil, "", err
	}
	return listAttempts(ctx, s.store.Q, e, f, page)
}

// Check validates the settings of an endpoint; those that are not given are not checked.
func (s *Endpoints) Check(e change.Endpoint) error {
	if e.URL != nil {
		if fault := s.sender.policy.CheckURL(*e.URL); fault != "" {
			return problem.Invalid([]any{"body", "url"}, fault, "url_not_allowed")
		}
	}
	if e.Events != nil {
		for i, pattern := range *e.Events {
			if !events.KnownPattern(pattern) {
				return problem.Invalid([]any{"body", "events", i}, "Unknown event type. GET /api/v1/event-types lists the types.", "event_type_unknown")
			}
			if slices.Index(*e.Events, pattern) < i {
				return problem.Invalid([]any{"body", "events", i}, "The type is listed twice.", "duplicate")
			}
		}
	}
	if e.Description != nil {
		return displaytext.Check("description", *e.Description)
	}
	return nil
}

// changed is the data that all events of a changed endpoint have: its id and the digests before and after.
type changed = events.WebhookEndpointCreatedData

// record appends a change of an endpoint to the audit log. Before is nil if the endpoint was created, after if it was deleted.
// Data returns the event with the given fields. The event has digests of the settings before and after, not the settings.
func record(ctx context.Context, q *pg.Q, by action.Author, before, after *models.WebhookEndpoint, data func(changed) events.Data) error {
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
	digests, err := events.NewChange(shown(before), shown(after))
	if err != nil {
		return err
	}
	e := after
	if e == nil {
		e = before
	}
	return events.Append(ctx, q, events.Entry{
		Scope: by.Scope, At: by.At, Actor: by.Actor, RequestID: by.RequestID, WorkflowID: by.WorkflowID, Data: data(changed{Endpoint: e.ID, Change: digests}),
	})
}

// wake resets and wakes the endpoint's workflow after a change. A failure is only logged: the sweep finds overdue deliveries.
func (s *Endpoints) wake(ctx context.Context, environment, id string) {
	if err := s.waker.WakeEndpoint(ctx, environment, id, true); err != nil {
		s.logger.LogAttrs(ctx, slog.LevelWarn, "the workflow of a webhook endpoint could not be woken", slog.String("endpoint", id), slog.String("error", err.Error()))
	}
}
