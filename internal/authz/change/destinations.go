package change

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Destination has the settings of a system to which the log is pushed, without secrets.
type Destination struct {
	Name     string                 `json:"name,omitempty"`
	Kind     models.DestinationKind `json:"kind,omitempty"`
	URL      string                 `json:"url,omitempty"`
	Encoding string                 `json:"encoding,omitempty"` // of the body
	Header   string                 `json:"header,omitempty"`   // that has the credential
	CA       string                 `json:"ca,omitempty"`       // certificates in PEM; empty for those of the machine
	Since    *time.Time             `json:"since,omitempty"`    // entries from before are passed over; nil for those from before it was set up
}

// Destinations makes the changes of destinations of the log (package destination).
type Destinations interface {
	// Check returns settings in their stored form. It refuses those that no destination may have.
	Check(in Destination) (Destination, error)
	// Settings returns those of a destination by name, and locks it until the transaction ends if lock is set; pg.ErrNotFound if there is none.
	Settings(ctx context.Context, q *pg.Q, s pg.Scope, name string, lock bool) (Destination, error)
	// SetIn creates or changes a destination in the caller's transaction, and RemoveIn removes one.
	SetIn(ctx context.Context, q *pg.Q, by action.Author, in Destination) error
	RemoveIn(ctx context.Context, q *pg.Q, by action.Author, name string) error
}

// SetDestination creates a destination of the log or changes its settings, or requests that: it says who receives all that happens in the environment.
func (s *Service) SetDestination(ctx context.Context, scope pg.Scope, by By, in Destination) (Made[Destination], error) {
	in, err := s.destinations.Check(in)
	if err != nil {
		return Made[Destination]{}, err
	}
	return s.changeDestination(ctx, scope, by, models.ChangeDestinationSet, in)
}

// RemoveDestination removes a destination of the log, or requests that: what happens from then on is not sent to it.
func (s *Service) RemoveDestination(ctx context.Context, scope pg.Scope, by By, name string) (Made[Destination], error) {
	return s.changeDestination(ctx, scope, by, models.ChangeDestinationRemove, Destination{Name: name})
}

func (s *Service) changeDestination(ctx context.Context, scope pg.Scope, by By, kind models.ChangeKind, in Destination) (Made[Destination], error) {
	err := s.store.Write(ctx, func(q *pg.Q) error {
		if err := tenancy.RefuseAlone(ctx, q, scope); err != nil {
			return err
		}
		author := action.Author{Scope: scope, Actor: by.Actor, RequestID: by.RequestID, At: s.clock.Now()}
		if kind == models.ChangeDestinationRemove {
			return s.destinations.RemoveIn(ctx, q, author, in.Name)
		}
		return s.destinations.SetIn(ctx, q, author, in)
	})
	return made(in, err, func() (*View, error) {
		return s.proposeBy(ctx, scope, by, func(q *pg.Q) (proposal, error) {
			current, err := s.destinations.Settings(ctx, q, scope, in.Name, false)
			if errors.Is(err, pg.ErrNotFound) && kind == models.ChangeDestinationRemove {
				return proposal{}, problem.NewNotFound()
			}
			if err != nil && !errors.Is(err, pg.ErrNotFound) {
				return proposal{}, err
			}
			proposed := in
			if kind == models.ChangeDestinationRemove {
				proposed = Destination{}
			}
			differences, err := fieldDifferences(current, proposed)
			return proposal{kind: kind, target: in.Name, base: current, proposed: proposed, differences: differences}, err
		})
	})
}

// isDestination reports whether a change request is about a destination of the log.
func isDestination(k models.ChangeKind) bool {
	return k == models.ChangeDestinationSet || k == models.ChangeDestinationRemove
}

func (s *Service) destinationOf(lock bool) func(context.Context, *pg.Q, pg.Scope, string) (Destination, error) {
	return func(ctx context.Context, q *pg.Q, scope pg.Scope, name string) (Destination, error) {
		return s.destinations.Settings(ctx, q, scope, name, lock)
	}
}

// destinationBase is inForce of a change of a destination. One that is to be removed must be there.
func (t targets) destinationBase(ctx context.Context, c models.Change) (any, bool, error) {
	current, err := t.destination(ctx, t.Q, scopeOf(c), c.Target)
	if errors.Is(err, pg.ErrNotFound) {
		return Destination{}, c.Kind == models.ChangeDestinationSet, nil
	}
	return current, err == nil, err
}

// applyDestination makes a change of a destination in the caller's transaction. The settings are checked again.
func (s *Service) applyDestination(ctx context.Context, q *pg.Q, c models.Change, by action.Author) error {
	if c.Kind == models.ChangeDestinationRemove {
		return s.destinations.RemoveIn(ctx, q, by, c.Target)
	}
	var in Destination
	if err := json.Unmarshal(c.Proposed, &in); err != nil {
		return err
	}
	return s.destinations.SetIn(ctx, q, by, in)
}
