package change

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// SignalStream has the settings of an issuer of security events, without secrets.
type SignalStream struct {
	Name     string `json:"name,omitempty"`
	Issuer   string `json:"issuer,omitempty"`
	Audience string `json:"audience,omitempty"`
	// KeysURL is where the issuer's keys are published. Without it, Keys has them.
	KeysURL string          `json:"keys_url,omitempty"`
	Keys    json.RawMessage `json:"keys,omitempty"`
	PollURL string          `json:"poll_url,omitempty"` // empty if the issuer pushes
	// Effects names the effects of the events of a type; types that are missing have their defaults.
	Effects map[string]models.SignalEffects `json:"effects,omitempty"`
}

// SignalStreams makes the changes of issuers of security events (package signal).
type SignalStreams interface {
	// Check refuses settings that no issuer may have.
	Check(s SignalStream) error
	// Settings returns those of an issuer by name, and locks it until the transaction ends if lock is set; pg.ErrNotFound if there is none.
	Settings(ctx context.Context, q *pg.Q, s pg.Scope, name string, lock bool) (SignalStream, error)
	// SetIn creates or changes an issuer in the caller's transaction, and RemoveIn removes one.
	SetIn(ctx context.Context, q *pg.Q, by action.Author, in SignalStream) error
	RemoveIn(ctx context.Context, q *pg.Q, by action.Author, name string) error
}

// SetSignals creates an issuer of security events or changes its settings, or requests that: it says whose word ends sessions and voids proofs.
func (s *Service) SetSignals(ctx context.Context, scope pg.Scope, by By, in SignalStream) (Made[SignalStream], error) {
	if err := s.signals.Check(in); err != nil {
		return Made[SignalStream]{}, err
	}
	return s.changeSignals(ctx, scope, by, models.ChangeSignalsSet, in)
}

// RemoveSignals removes an issuer of security events, or requests that: what it reports has no effect from then on.
func (s *Service) RemoveSignals(ctx context.Context, scope pg.Scope, by By, name string) (Made[SignalStream], error) {
	return s.changeSignals(ctx, scope, by, models.ChangeSignalsRemove, SignalStream{Name: name})
}

func (s *Service) changeSignals(ctx context.Context, scope pg.Scope, by By, kind models.ChangeKind, in SignalStream) (Made[SignalStream], error) {
	err := s.store.Write(ctx, func(q *pg.Q) error {
		if err := tenancy.RefuseAlone(ctx, q, scope); err != nil {
			return err
		}
		author := action.Author{Scope: scope, Actor: by.Actor, RequestID: by.RequestID, At: s.clock.Now()}
		if kind == models.ChangeSignalsRemove {
			return s.signals.RemoveIn(ctx, q, author, in.Name)
		}
		return s.signals.SetIn(ctx, q, author, in)
	})
	return made(in, err, func() (*View, error) {
		return s.proposeBy(ctx, scope, by, func(q *pg.Q) (proposal, error) {
			current, err := s.signals.Settings(ctx, q, scope, in.Name, false)
			if errors.Is(err, pg.ErrNotFound) && kind == models.ChangeSignalsRemove {
				return proposal{}, problem.NewNotFound()
			}
			if err != nil && !errors.Is(err, pg.ErrNotFound) {
				return proposal{}, err
			}
			proposed := in
			if kind == models.ChangeSignalsRemove {
				proposed = SignalStream{}
			}
			differences, err := fieldDifferences(current, proposed)
			return proposal{kind: kind, target: in.Name, base: current, proposed: proposed, differences: differences}, err
		})
	})
}

// isSignals reports whether a change request is about an issuer of security events.
func isSignals(k models.ChangeKind) bool {
	return k == models.ChangeSignalsSet || k == models.ChangeSignalsRemove
}

func (s *Service) signalsOf(lock bool) func(context.Context, *pg.Q, pg.Scope, string) (SignalStream, error) {
	return func(ctx context.Context, q *pg.Q, scope pg.Scope, name string) (SignalStream, error) {
		return s.signals.Settings(ctx, q, scope, name, lock)
	}
}

// signalsBase is inForce of a change of an issuer. One that is to be removed must be there.
func (t targets) signalsBase(ctx context.Context, c models.Change) (any, bool, error) {
	current, err := t.signals(ctx, t.Q, scopeOf(c), c.Target)
	if errors.Is(err, pg.ErrNotFound) {
		return SignalStream{}, c.Kind == models.ChangeSignalsSet, nil
	}
	return current, err == nil, err
}

// applySignals makes a change of an issuer in the caller's transaction. The settings are checked again.
func (s *Service) applySignals(ctx context.Context, q *pg.Q, c models.Change, by action.Author) error {
	if c.Kind == models.ChangeSignalsRemove {
		return s.signals.RemoveIn(ctx, q, by, c.Target)
	}
	var in SignalStream
	if err := json.Unmarshal(c.Proposed, &in); err != nil {
		return err
	}
	return s.signals.SetIn(ctx, q, by, in)
}
