// Package template manages the versions of the behavioral templates of subjects: it adapts them to confirmed sessions, rolls
// them back to an earlier version, and retrains them after the population model changes.
//
// Every change stores a new version, with its event, in one transaction. Of the versions of a subject's template for one
// modality and class of device, one is active:
//
//	active     -> superseded  by a newer version
//	           -> retired     by a rollback from it or a recovery; final
//	superseded -> active      by a rollback to it
//
// The package contains no scoring rule (package scoring does) and trains no first template (package enrollment does).
package template

import (
	"context"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/authz/backgrounds"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// maxSuperseded is how many superseded versions from adaptation or retraining are kept for rollback. Versions from an
// enrollment are all kept.
const maxSuperseded = 8

// Service manages templates.
type Service struct {
	store    *pg.Store
	clock    clock.Clock
	assessor *assurance.Assessor
}

// New returns the service.
func New(st *pg.Store, c clock.Clock, assessor *assurance.Assessor) *Service {
	return &Service{store: st, clock: c, assessor: assessor}
}

// List returns a page of the versions of a subject's templates, newest first, and the cursor of the next page.
func (s *Service) List(ctx context.Context, scope pg.Scope, subjectID string, p pg.Page) ([]models.Template, string, error) {
	sub, err := subjectrow.Get(ctx, s.store.Q, scope, subjectID)
	if errors.Is(err, pg.ErrNotFound) {
		return nil, "", problem.NewNotFound()
	}
	if err != nil {
		return nil, "", err
	}
	return listTemplates(ctx, s.store.Q, scope, sub.UID, p)
}

// Rollback selects the version that Service.Rollback restores. A nil version is the newest superseded one.
type Rollback struct {
	Modality string // such as keystroke
	Device   string // class of device
	Version  *int   // the version to restore
}

// Rollback makes an earlier version active again. The version that was active is retired and cannot be restored, because it is
// the one that is distrusted. Active sessions are rescored. Adaptation continues from the restored version unless it is frozen,
// and not earlier than it would have. Without a superseded version it returns the problem no_earlier_template.
func (s *Service) Rollback(ctx context.Context, p identity.Principal, subjectID string, r Rollback) (models.Template, error) {
	now := s.clock.Now()
	var out models.Template
	err := s.store.Write(ctx, func(q *pg.Q) error {
		sub, err := subjectrow.Lock(ctx, q, p.Store(), subjectID)
		if errors.Is(err, pg.ErrNotFound) {
			return problem.NewNotFound()
		}
		if err != nil {
			return err
		}
		from, to, err := rollBackTemplate(ctx, q, p.Store(), RollBack{SubjectUID: sub.UID, Modality: r.Modality, Device: r.Device, Version: r.Version}, now)
		if errors.Is(err, pg.ErrNotFound) {
			return problem.New(problem.NoEarlierTemplate, "The template has no superseded version to roll back to.")
		}
		if err != nil {
			return err
		}
		out = to
		if err := backgrounds.NewCounter(s.assessor).Recount(ctx, q, p.Store(), sub.UID, now); err != nil {
			return err
		}
		return events.Append(ctx, q, events.Entry{
			Scope: p.Store(), At: now, SubjectUID: sub.UID, Subject: sub.ExternalID, Actor: p.Actor(),
			RequestID: p.RequestID, Data: events.TemplateRolledBackData{
				Template: to.ID, Modality: to.Modality, DeviceClass: to.DeviceClass, FromVersion: from, ToVersion: to.Version,
			},
		})
	})
	if err != nil {
		return out, err
	}
	return out, Rescore(ctx, s.store, s.assessor, p.Store(), out.SubjectUID)
}

// maxRescored is how many active sessions of a subject Rescore scores. The others are scored with their next frame.
const maxRescored = 20

// Rescore scores the active sessions of a subject again, each in its own transaction, after its templates changed. A session
// that it misses is corrected by the session's next frame.
func Rescore(ctx context.Context, st *pg.Store, assessor *assurance.Assessor, scope pg.Scope, uid string) error {
	sessions, err := activeSessionIDs(ctx, st.Q, scope, uid, maxRescored)
	if err != nil {
		return err
	}
	for _, id := range sessions {
		if err := st.Write(ctx, func(q *pg.Q) error { return rescore(ctx, q, assessor, scope, id) }); err != nil {
			return err
		}
	}
	return nil
}

// rescore scores one session against the active templates and stores its state.
func rescore(ctx context.Context, q *pg.Q, assessor *assurance.Assessor, scope pg.Scope, id string) error {
	v, err := LockSession(ctx, q, scope, id)
	if errors.Is(err, pg.ErrNotFound) || err == nil && len(v.Session.State) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	state, err := assessor.OpenState(v.Session)
	if err != nil {
		return err
	}
	templates, err := openTemplates(ctx, q, assessor, scope, v.Session.SubjectUID)
	if err != nil {
		return err
	}
	state = assessor.ModelOf(scope.Environment).Rescore(state, templates)
	if v.Session.State, err = assessor.SealState(id, state); err != nil {
		return err
	}
	_, err = SaveSession(ctx, q, v.Session)
	return err
}

// openTemplates returns the subject's active templates, unsealed.
func openTemplates(ctx context.Context, q *pg.Q, assessor *assurance.Assessor, scope pg.Scope, uid string) (scoring.Templates, error) {
	rows, err := backgrounds.ActiveTemplate(ctx, q, scope, uid)
	if err != nil {
		return nil, err
	}
	return assessor.Templates(rows)
}

// saveVersion stores t as the new active version of row's template and deletes superseded versions beyond maxSuperseded.
func (s *Service) saveVersion(ctx context.Context, q *pg.Q, row models.Template, t scoring.Template, at time.Time) (models.Template, error) {
	row.ID, row.Status, row.CreatedAt, row.UpdatedAt = ids.New(ids.Template), models.TemplateActive, at, at
	row.ModelVersion, row.Provisional = t.ModelVersion, t.Provisional
	row.Limitations = append(models.Strings{}, t.Limitations...)
	var err error
	if row.Data, err = s.assessor.SealTemplate(row, t); err != nil {
		return row, err
	}
	if err := ReplaceTemplate(ctx, q, row); err != nil {
		return row, err
	}
	_, err = dropTemplateVersions(ctx, q, row, maxSuperseded)
	return row, err
}
