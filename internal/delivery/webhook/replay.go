package webhook

import (
	"context"
	"encoding/json"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// MaxReplay is the maximum number of deliveries that one replay schedules. Those settled longest ago come first; a further call schedules
// the next ones.
const MaxReplay = 10_000

// Replay selects the deliveries to send again.
type Replay struct {
	// Status is failed (which includes discarded deliveries), succeeded, or all (which includes events that the endpoint has no
	// delivery of). Empty is failed.
	Status string
	Event  string // id of one event, which is sent whatever the status of its delivery
	Since  *time.Time
	Until  *time.Time
}

// undelivered are the final states of a delivery that its receiver did not get.
var undelivered = []models.DeliveryStatus{models.DeliveryFailed, models.DeliveryDiscarded}

// filter returns the store's filter; missed asks for events without a delivery as well.
func (r Replay) filter() (f replayFilter, missed bool) {
	f = replayFilter{Event: r.Event, Since: r.Since, Until: r.Until}
	switch {
	case r.Event != "" || r.Status == "all":
		f.Statuses, missed = append([]models.DeliveryStatus{models.DeliverySucceeded}, undelivered...), true
	case r.Status == "succeeded":
		f.Statuses = []models.DeliveryStatus{models.DeliverySucceeded}
	default:
		f.Statuses = undelivered
	}
	return f, missed
}

// Replay schedules settled deliveries again, each with its original webhook-id, and returns how many. It returns the problem
// endpoint_disabled for a disabled endpoint.
func (s *Endpoints) Replay(ctx context.Context, p identity.Principal, id string, r Replay) (int64, error) {
	var n int64
	err := s.store.Write(ctx, func(q *pg.Q) error {
		e, err := lockEndpoint(ctx, q, p.Store(), id)
		if err != nil {
			return err
		}
		if e.Status != Enabled {
			return problem.New(problem.EndpointDisabled, "The endpoint is disabled. Enable it first; that replays the events it missed.")
		}
		if r.Event != "" {
			if _, err := events.GetEvent(ctx, q, p.Store(), r.Event); err != nil {
				return err
			}
		}
		f, missed := r.filter()
		if n, err = s.schedule(ctx, q, e, f, missed); err != nil {
			return err
		}
		return record(ctx, q, s.author(p), &e, &e, func(d changed) events.Data {
			return events.WebhookEndpointReplayedData{Endpoint: d.Endpoint, Scheduled: n, Change: d.Change}
		})
	})
	if err != nil {
		return 0, err
	}
	s.wake(ctx, p.EnvironmentID, id)
	return n, nil
}

// Enable enables a disabled endpoint and replays the gap: deliveries that were discarded when it was disabled or failed while
// it was failing, and events since then. It has no effect on an enabled endpoint.
func (s *Endpoints) Enable(ctx context.Context, p identity.Principal, id string) (models.WebhookEndpoint, error) {
	var e models.WebhookEndpoint
	err := s.store.Write(ctx, func(q *pg.Q) error {
		var err error
		if e, err = lockEndpoint(ctx, q, p.Store(), id); err != nil || e.Status == Enabled {
			return err
		}
		before, now := e, s.clock.Now()
		if err := enableEndpoint(ctx, q, id, now); err != nil {
			return err
		}
		e.Status, e.DisabledReason, e.DisabledAt, e.FailingSince, e.UpdatedAt = Enabled, nil, nil, nil, now
		n, err := s.replayGap(ctx, q, before)
		if err != nil {
			return err
		}
		return record(ctx, q, s.author(p), &before, &e, func(d changed) events.Data {
			return events.WebhookEndpointEnabledData{Endpoint: d.Endpoint, Scheduled: n, Change: d.Change}
		})
	})
	if err != nil {
		return e, err
	}
	s.wake(ctx, p.EnvironmentID, id)
	return e, nil
}

// latestFanOut is how long before its disabling an endpoint may have missed events: those that were recorded before it, and fanned out
// after it.
const latestFanOut = time.Hour

// gapRounds limits how often MaxReplay deliveries of one kind are scheduled for one gap: the request has to end, and the fan-out waits for the
// endpoint's row meanwhile.
const gapRounds = 5

// replayGap schedules everything that the endpoint missed. Before is the endpoint as it was while disabled.
func (s *Endpoints) replayGap(ctx context.Context, q *pg.Q, before models.WebhookEndpoint) (int64, error) {
	requeue := func(f replayFilter) (int64, error) {
		return inRounds(func() (int64, error) { return s.schedule(ctx, q, before, f, false) })
	}
	discarded, err := requeue(replayFilter{Statuses: []models.DeliveryStatus{models.DeliveryDiscarded}})
	if err != nil {
		return 0, err
	}
	var failed, missed int64
	if before.FailingSince != nil {
		// Select by the time of settling: the first failed delivery may be older than the failure.
		if failed, err = requeue(replayFilter{Statuses: undelivered, SettledSince: before.FailingSince}); err != nil {
			return 0, err
		}
	}
	if before.DisabledAt != nil {
		since := before.DisabledAt.Add(-latestFanOut)
		if since.Before(before.CreatedAt) {
			since = before.CreatedAt
		}
		missed, err = inRounds(func() (int64, error) {
			return s.scheduleMissed(ctx, q, before, replayFilter{Since: &since}, MaxReplay)
		})
	}
	return discarded + failed + missed, err
}

// inRounds repeats schedule until it schedules nothing, at most gapRounds times, and returns how many it scheduled in all. A round may
// schedule less than it found: events about the endpoint itself are not for it.
func inRounds(schedule func() (int64, error)) (total int64, err error) {
	for range gapRounds {
		n, err := schedule()
		if err != nil || n == 0 {
			return total, err
		}
		total += n
	}
	return total, nil
}

// schedule makes settled deliveries due again and, if missed is set, first creates those of events that have none: there may always be
// enough settled ones to use up the limit.
func (s *Endpoints) schedule(ctx context.Context, q *pg.Q, e models.WebhookEndpoint, f replayFilter, missed bool) (n int64, err error) {
	if missed {
		if n, err = s.scheduleMissed(ctx, q, e, f, MaxReplay); err != nil {
			return 0, err
		}
	}
	m, err := requeueDeliveries(ctx, q, e, f, s.clock.Now(), MaxReplay-int(n))
	return n + m, err
}

// scheduleMissed creates deliveries of subscribed events that the endpoint has none of, at most limit.
func (s *Endpoints) scheduleMissed(ctx context.Context, q *pg.Q, e models.WebhookEndpoint, f replayFilter, limit int) (int64, error) {
	var types []string
	for _, t := range events.Selected("") {
		if events.Matches(e.Events, events.Type(t)) {
			types = append(types, t)
		}
	}
	rows, err := undeliveredEvents(ctx, q, pg.Scope{Tenant: e.TenantID, Environment: e.EnvironmentID}, e.ID, types, f, limit)
	if err != nil {
		return 0, err
	}
	var owed []models.WebhookDelivery
	for _, row := range rows {
		owed = append(owed, deliveries(row, []models.WebhookEndpoint{e}, "", s.clock.Now())...)
	}
	if len(owed) == 0 {
		return 0, nil
	}
	return int64(len(owed)), insertDeliveries(ctx, q, owed)
}

// TestResult is the result of a test delivery.
type TestResult struct {
	Event string
	AttemptResult
}

// Test sends a webhook.test event to an endpoint, enabled or not, and waits for the response. It makes one attempt, which is listed among the
// others, is never replayed and says nothing of whether the endpoint fails. The audit log says that it was made.
func (s *Endpoints) Test(ctx context.Context, p identity.Principal, id string) (TestResult, error) {
	e, err := getEndpoint(ctx, s.store.Q, p.Store(), id)
	if err != nil {
		return TestResult{}, err
	}
	now := s.clock.Now()
	rows, err := secretsOfEndpoint(ctx, s.store.Q, id, now)
	if err != nil {
		return TestResult{}, err
	}
	secrets, err := openSecrets(s.keyring, id, rows)
	if err != nil {
		return TestResult{}, err
	}
	event, err := events.Row(events.Entry{Scope: p.Store(), At: now, Actor: p.Actor(), Data: events.WebhookTestData{Endpoint: id}})
	if err != nil {
		return TestResult{}, err
	}
	message, err := events.NewMessage(event)
	if err != nil {
		return TestResult{}, err
	}
	body, err := json.Marshal(message)
	if err != nil {
		return TestResult{}, err
	}
	err = s.store.Write(ctx, func(q *pg.Q) error {
		return events.Append(ctx, q, events.Entry{
			Scope: p.Store(), At: now, Actor: p.Actor(), RequestID: p.RequestID, Data: events.WebhookEndpointTestedData{Endpoint: id},
		})
	})
	if err != nil {
		return TestResult{}, err
	}
	delivery := models.WebhookDelivery{ID: ids.New(ids.Delivery), EnvironmentID: e.EnvironmentID, EndpointID: id, EventID: event.ID, Type: event.Type, NextAttemptAt: now, CreatedAt: now}
	result := s.sender.Send(ctx, Message{URL: e.URL, ID: event.ID, At: now, Body: body, Secrets: secrets})
	status := models.DeliveryFailed
	if result.Succeeded {
		status = models.DeliverySucceeded
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWithin)
	defer cancel()
	return TestResult{event.ID, result}, s.store.Write(ctx, func(q *pg.Q) error {
		if err := insertDeliveries(ctx, q, []models.WebhookDelivery{delivery}); err != nil {
			return err
		}
		return recordAttempts(ctx, q, []Attempted{{Status: status, WebhookAttempt: attemptOf(delivery, result, 1, now)}})
	})
}
