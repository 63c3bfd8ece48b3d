// Package template keeps the versions of what was learned of a subject: it takes confirmed sessions in, goes back to an
// earlier version, and carries templates over to another background. Every change is a new state of the record in one
// transaction, with its event. How a template changes is internal/behavior/scoring's; enrolling one is internal/subject/enrollment's.
package template

import (
	"context"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// keptVersions is how many superseded versions that no enrollment made are kept for going back to. Those that an
// enrollment made are kept all.
const maxSuperseded = 8

// Service keeps templates.
type Service struct {
	store    *store.Store
	clock    clock.Clock
	assessor *assurance.Assessor
}

// New makes the service.
func New(st *store.Store, c clock.Clock, assessor *assurance.Assessor) *Service {
	return &Service{store: st, clock: c, assessor: assessor}
}

// List answers the versions of a subject's templates, newest first.
func (s *Service) List(ctx context.Context, scope store.Scope, subjectID string, p store.Page) ([]models.Template, string, error) {
	sub, err := s.store.Subjects().Get(ctx, scope, subjectID)
	if errors.Is(err, store.ErrNotFound) {
		return nil, "", problem.NewNotFound()
	}
	if err != nil {
		return nil, "", err
	}
	return s.store.Templates().List(ctx, scope, sub.UID, p)
}

// Rollback names what to go back on. Version nil is the newest superseded version before the one in force.
type Rollback struct {
	Modality string
	Device   string
	Version  *int
}

// Rollback puts an earlier version in force again. The one that was in force is retired and no more to be had: it is what
// is distrusted. Sessions under way are scored again. Adaptation goes on from the earlier version unless it is frozen,
// and no sooner than it would have.
func (s *Service) Rollback(ctx context.Context, p identity.Principal, subjectID string, r Rollback) (models.Template, error) {
	now := s.clock.Now()
	var out models.Template
	err := s.store.Write(ctx, func(q *store.Q) error {
		sub, err := q.Subjects().Lock(ctx, p.Store(), subjectID)
		if errors.Is(err, store.ErrNotFound) {
			return problem.NewNotFound()
		}
		if err != nil {
			return err
		}
		from, to, err := q.Templates().RollBack(ctx, p.Store(), sub.UID, r.Modality, r.Device, r.Version, now)
		if errors.Is(err, store.ErrNotFound) {
			return problem.New(problem.NoEarlierTemplate, "There is no superseded version of this template to go back to.")
		}
		if err != nil {
			return err
		}
		out = to
		return events.Append(ctx, q, events.Entry{
			Scope: p.Store(), Type: events.TemplateRolledBack, At: now, SubjectUID: sub.UID, Subject: sub.ExternalID, Actor: p.Actor(),
			RequestID: p.RequestID, Data: map[string]any{
				"template": to.ID, "modality": to.Modality, "device_class": to.DeviceClass, "from_version": from, "to_version": to.Version,
			},
		})
	})
	if err != nil {
		return out, err
	}
	return out, Rescore(ctx, s.store, s.assessor, p.Store(), out.SubjectUID)
}

// rescored bounds how many sessions of one subject are scored again at once; more are scored with their next frame.
const maxRescored = 20

// Rescore scores the sessions of a subject that are under way again, each in a transaction of its own, after templates
// changed. What it does not reach is put right by the session's next frame.
func Rescore(ctx context.Context, st *store.Store, assessor *assurance.Assessor, scope store.Scope, uid string) error {
	sessions, err := st.Sessions().ActiveIDs(ctx, scope, uid, maxRescored)
	if err != nil {
		return err
	}
	for _, id := range sessions {
		if err := st.Write(ctx, func(q *store.Q) error { return rescore(ctx, q, assessor, scope, id) }); err != nil {
			return err
		}
	}
	return nil
}

func rescore(ctx context.Context, q *store.Q, assessor *assurance.Assessor, scope store.Scope, id string) error {
	v, err := q.Sessions().Lock(ctx, scope, id)
	if errors.Is(err, store.ErrNotFound) || err == nil && len(v.Session.State) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	state, err := assessor.OpenState(v.Session)
	if err != nil {
		return err
	}
	templates, err := open(ctx, q, assessor, scope, v.Session.SubjectUID)
	if err != nil {
		return err
	}
	state = assessor.Model().Rescore(state, templates)
	if v.Session.State, err = assessor.SealState(id, state); err != nil {
		return err
	}
	_, err = q.Sessions().Save(ctx, v.Session)
	return err
}

func open(ctx context.Context, q *store.Q, assessor *assurance.Assessor, scope store.Scope, uid string) (scoring.Templates, error) {
	rows, err := q.Templates().Active(ctx, scope, uid)
	if err != nil {
		return nil, err
	}
	return assessor.Templates(rows)
}

// keep puts a new version in force and forgets what is older than needed.
func (s *Service) saveVersion(ctx context.Context, q *store.Q, row models.Template, t scoring.Template, at time.Time) (models.Template, error) {
	row.ID, row.Status, row.CreatedAt, row.UpdatedAt = ids.New(ids.Template), models.TemplateActive, at, at
	row.ModelVersion, row.Provisional = t.ModelVersion, t.Provisional
	row.Limitations = append(models.Strings{}, t.Limitations...)
	var err error
	if row.Data, err = s.assessor.SealTemplate(row.ID, t); err != nil {
		return row, err
	}
	if err := q.Templates().Replace(ctx, row); err != nil {
		return row, err
	}
	_, err = q.Templates().DropVersions(ctx, row, maxSuperseded)
	return row, err
}
