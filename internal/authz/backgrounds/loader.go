package backgrounds

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// Errors of Activate.
var (
	ErrVersionTaken = errors.New("backgrounds: a different background with this version was active before; use a new version")
	ErrNoComparison = errors.New("backgrounds: a background can be activated only with a comparison to the active one")
)

// Loader loads backgrounds.
type Loader struct {
	store    *pg.Store
	assessor *assurance.Assessor
	log      *slog.Logger
	prepared *prepared
}

// NewLoader returns a Loader that puts the model in force into the assessor.
func NewLoader(st *pg.Store, assessor *assurance.Assessor, log *slog.Logger) *Loader {
	return &Loader{store: st, assessor: assessor, log: log, prepared: &prepared{}}
}

// Load activates, for each modality, the active background of the database, or the embedded one if there is none.
func (s *Loader) Load(ctx context.Context) error {
	rows, err := All(ctx, s.store.Q)
	if err != nil {
		return err
	}
	// Start with the embedded backgrounds; an active row of the same modality replaces one. Retired backgrounds stay known, so
	// that templates trained with them can be migrated.
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
			if row.Status == models.BackgroundActive && !errors.Is(err, scoring.ErrSchema) {
				return fmt.Errorf("backgrounds: background %s: %w", row.Version, err)
			}
			s.log.Warn("a background cannot be used; the embedded one replaces it, and its templates need a new enrollment",
				"version", row.Version, "status", row.Status, "error", err)
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
		s.log.Info("the active model has changed", "model_version", model.Version(), "before", before)
	}
	own, err := s.own(ctx)
	if err != nil {
		return err
	}
	s.assessor.Use(model, known...)
	s.assessor.UseOwn(own)
	return nil
}

// Follow calls Load whenever any replica activates a background, until ctx ends. If loading fails, it logs the error and the active
// model stays.
func (s *Loader) Follow(ctx context.Context) {
	s.store.Listen(ctx, []string{pg.ChannelBackground}, func(string, string) {
		if err := s.Load(ctx); err != nil && ctx.Err() == nil {
			s.log.Error("cannot load the backgrounds; the active model stays", "error", err)
		}
	})
}

// Warn logs what the operator of a live environment must know about the active model.
func (s *Loader) Warn(ctx context.Context) error {
	environments, err := tenancy.ListEnvironments(ctx, s.store.Q, "")
	if err != nil {
		return err
	}
	for _, env := range environments {
		if env.Kind != models.Live {
			continue
		}
		for _, m := range features.Modalities() {
			if bg := s.assessor.Model().Background(m); bg != nil && bg.Card.NonCommercial {
				s.log.Warn("a live environment uses a background whose data may not be used commercially; train one with countersign background learn",
					"environment", env.ID, "background", bg.Version, "licence", bg.Card.Licence)
			}
		}
	}
	return nil
}

// Order describes an activation.
type Order struct {
	Body []byte // as scoring.Background.Marshal writes it
	// Comparison is required, so that no model is activated without a measurement.
	Comparison any    // with the background in force, as measured; stored as JSON
	By         string // actor for the events
	At         time.Time
}

// Activate activates a background for the whole deployment. It notifies every replica and records the event in the audit log of
// every environment.
func Activate(ctx context.Context, st *pg.Store, o Order) (*scoring.Background, error) {
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
	return bg, st.Write(ctx, func(q *pg.Q) error {
		before, err := All(ctx, q)
		if err != nil {
			return err
		}
		// A version identifies the content forever: templates refer to it.
		for _, b := range before {
			if b.Version == row.Version && b.Digest != row.Digest {
				return ErrVersionTaken
			}
		}
		if embedded := scoring.Default().Background(bg.Modality); embedded != nil && embedded.Version == bg.Version {
			return ErrVersionTaken
		}
		if err := activateBackground(ctx, q, row); err != nil {
			return err
		}
		return recordActivation(ctx, q, o, events.BackgroundActivatedData{Background: row.Version, Modality: row.Modality, Digest: row.Digest})
	})
}

// Retire retires the active background of a modality, so that the embedded one is active again.
func Retire(ctx context.Context, st *pg.Store, m features.Modality, by string, at time.Time) error {
	embedded := scoring.Default().Background(m)
	if embedded == nil {
		return fmt.Errorf("backgrounds: %q has no background", m)
	}
	return st.Write(ctx, func(q *pg.Q) error {
		if err := retireBackground(ctx, q, string(m), at); err != nil {
			return err
		}
		return recordActivation(ctx, q, Order{By: by, At: at}, events.BackgroundActivatedData{Background: embedded.Version, Modality: string(m), Digest: "embedded"})
	})
}

// recordActivation appends the event to the log of every environment, whose decisions use a different model from now on.
func recordActivation(ctx context.Context, q *pg.Q, o Order, data events.BackgroundActivatedData) error {
	environments, err := tenancy.ListEnvironments(ctx, q, "")
	if err != nil {
		return err
	}
	for _, env := range environments {
		err := events.Append(ctx, q, events.Entry{
			Scope: pg.Scope{Tenant: env.TenantID, Environment: env.ID}, At: o.At, Actor: o.By, Data: data,
		})
		if err != nil {
			return err
		}
	}
	return nil
}
