// Package activation keeps which background models are in force. The binary embeds one a modality; a deployment may put
// others in force, which are rows that every replica loads at its start and again when it is told. The package compares
// and measures nothing: it stores what was measured before an activation, and refuses one without.
package population

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// Errors of Activate.
var (
	ErrVersionTaken = errors.New("activation: another background of this version was in force before; give this one a version of its own")
	ErrNoComparison = errors.New("activation: a background is put in force only with a comparison to the one before")
)

// Service loads and activates backgrounds.
type Service struct {
	store    *store.Store
	assessor *assurance.Assessor
	log      *slog.Logger
}

// New returns a Service that puts the model in force into the assessor.
func New(st *store.Store, assessor *assurance.Assessor, log *slog.Logger) *Service {
	return &Service{store: st, assessor: assessor, log: log}
}

// Load puts in force what the database says: of each modality the active background, or the embedded one.
func (s *Service) Load(ctx context.Context) error {
	rows, err := s.store.Backgrounds().List(ctx)
	if err != nil {
		return err
	}
	inForce, known := map[features.Modality]*scoring.Background{}, []*scoring.Background{}
	for _, m := range features.Modalities() {
		if bg := scoring.Default().Background(m); bg != nil {
			inForce[m] = bg
			known = append(known, bg)
		}
	}
	for _, row := range rows {
		bg, err := scoring.ParseBackground(row.Body)
		if err != nil {
			if row.Status == models.BackgroundActive {
				return fmt.Errorf("activation: background %s: %w", row.Version, err)
			}
			s.log.Warn("a background of the past cannot be read; its templates need another enrollment", "version", row.Version, "error", err)
			continue
		}
		known = append(known, bg)
		if row.Status == models.BackgroundActive {
			inForce[bg.Modality] = bg
		}
	}
	var all []*scoring.Background
	for _, m := range features.Modalities() {
		if bg := inForce[m]; bg != nil {
			all = append(all, bg)
		}
	}
	model := scoring.NewModel(all...)
	if before := s.assessor.Model().Version(); before != model.Version() {
		s.log.Info("another model is in force", "model_version", model.Version(), "before", before)
	}
	s.assessor.Use(model, known...)
	return nil
}

// Follow loads again whenever a background is activated anywhere, until ctx ends. What cannot be loaded is logged, and what
// was in force stays.
func (s *Service) Follow(ctx context.Context) {
	s.store.Listen(ctx, []string{store.ChannelBackground}, func(string, string) {
		if err := s.Load(ctx); err != nil && ctx.Err() == nil {
			s.log.Error("the model in force stays as it was", "error", err)
		}
	})
}

// Warn logs what an operator of a live environment must know of the model in force.
func (s *Service) Warn(ctx context.Context) error {
	environments, err := s.store.Environments().List(ctx, "")
	if err != nil {
		return err
	}
	for _, env := range environments {
		if env.Kind != models.Live {
			continue
		}
		for _, m := range features.Modalities() {
			if bg := s.assessor.Model().Background(m); bg != nil && bg.Card.NonCommercial {
				s.log.Warn("a live environment judges by a background whose data may not be used commercially: learn your own with countersign background learn",
					"environment", env.ID, "background", bg.Version, "licence", bg.Card.Licence)
			}
		}
	}
	return nil
}

// Order is what Activate is asked for.
type Order struct {
	Body       []byte // as scoring.Background.Marshal writes it
	Comparison any    // with the background in force, as measured; stored as JSON
	By         string // who asks
	At         time.Time
}

// Activate puts a background in force for the whole deployment and tells every replica and every environment's audit log.
func Activate(ctx context.Context, st *store.Store, o Order) (*scoring.Background, error) {
	bg, err := scoring.ParseBackground(o.Body)
	if err != nil {
		return nil, err
	}
	if o.Comparison == nil {
		return nil, ErrNoComparison
	}
	comparison, err := json.Marshal(o.Comparison)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(o.Body)
	row := models.Background{
		Version: bg.Version, Modality: string(bg.Modality), Body: o.Body, Digest: "sha256:" + hex.EncodeToString(sum[:]),
		Comparison: comparison, ActivatedBy: o.By, ActivatedAt: o.At,
	}
	return bg, st.Write(ctx, func(q *store.Q) error {
		before, err := q.Backgrounds().List(ctx)
		if err != nil {
			return err
		}
		for _, b := range before {
			if b.Version == row.Version && b.Digest != row.Digest {
				return ErrVersionTaken
			}
		}
		if embedded := scoring.Default().Background(bg.Modality); embedded != nil && embedded.Version == bg.Version {
			return ErrVersionTaken
		}
		if err := q.Backgrounds().Activate(ctx, row); err != nil {
			return err
		}
		return tell(ctx, q, o, events.BackgroundActivatedData{Background: row.Version, Modality: row.Modality, Digest: row.Digest})
	})
}

// Retire takes the background of a modality out of force; the embedded one stands again.
func Retire(ctx context.Context, st *store.Store, m features.Modality, by string, at time.Time) error {
	embedded := scoring.Default().Background(m)
	if embedded == nil {
		return fmt.Errorf("activation: %q has no background", m)
	}
	return st.Write(ctx, func(q *store.Q) error {
		if err := q.Backgrounds().Retire(ctx, string(m), at); err != nil {
			return err
		}
		return tell(ctx, q, Order{By: by, At: at}, events.BackgroundActivatedData{Background: embedded.Version, Modality: string(m), Digest: "embedded"})
	})
}

// tell writes the event into every environment's log: from here on decisions there follow another model.
func tell(ctx context.Context, q *store.Q, o Order, data events.BackgroundActivatedData) error {
	environments, err := q.Environments().List(ctx, "")
	if err != nil {
		return err
	}
	for _, env := range environments {
		err := events.Append(ctx, q, events.Entry{
			Scope: store.Scope{Tenant: env.TenantID, Environment: env.ID}, At: o.At, Actor: o.By, Data: data,
		})
		if err != nil {
			return err
		}
	}
	return nil
}
