// Package session manages observation sessions and accepts their evidence. Each frame is parsed, scored and stored as a whole. It changes
// only its own session, and the subject when it begins to enroll.
//
// A session is active until it ends:
//
//	active -> ended    by the caller, or by a revocation or a recovery of its subject
//	       -> expired  after assurance.SessionIdle without a frame
//
// The package contains no scoring rule: package scoring does the scoring. It stores no typed content: package features rejects
// frames that could contain any.
package session

import (
	"context"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/internal/subject/research"
	"github.com/countersign-dev/countersign/internal/subject/template"
	"github.com/countersign-dev/countersign/models"
)

// Service manages sessions. It is safe for concurrent use.
type Service struct {
	store    *pg.Store
	clock    clock.Clock
	assessor *assurance.Assessor
	research *research.Service // nil stores no research vectors
}

// New returns the service. With a nil research service, no vector is stored for research whatever a frame says.
func New(st *pg.Store, c clock.Clock, assessor *assurance.Assessor, r *research.Service) *Service {
	return &Service{store: st, clock: c, assessor: assessor, research: r}
}

// Start starts a session of an active subject on a class of device; empty is "unknown". It returns the problem not_found or
// subject_revoked.
func (s *Service) Start(ctx context.Context, p identity.Principal, subjectID, device string) (identity.SubjectSession, error) {
	now := s.clock.Now()
	if device == "" {
		device = "unknown"
	}
	var out identity.SubjectSession
	err := s.store.Write(ctx, func(q *pg.Q) error {
		sub, err := subject.RequireActive(subjectrow.Get(ctx, q, p.Store(), subjectID))
		if err != nil {
			return err
		}
		out = identity.SubjectSession{Subject: sub, Session: models.Session{
			ID: ids.New(ids.Session), TenantID: p.TenantID, EnvironmentID: p.EnvironmentID, SubjectUID: sub.UID, DeviceClass: device,
			Status: models.SessionActive, StartedAt: now, LastActivityAt: now, Coverage: "none", Modalities: models.Strings{},
			TrustState: "LEARNING",
		}}
		if err := CreateSession(ctx, q, out.Session); err != nil {
			return err
		}
		return events.Append(ctx, q, entry(p, out, now, events.SessionStartedData{Session: out.Session.ID}))
	})
	return out, err
}

// entry returns an event about the session with the caller as its actor.
func entry(p identity.Principal, v identity.SubjectSession, at time.Time, data events.Data) events.Entry {
	return events.Entry{
		Scope: p.Store(), At: at, SubjectUID: v.Subject.UID, Subject: v.Subject.ExternalID, Actor: p.Actor(),
		RequestID: p.RequestID, Data: data,
	}
}

// Get returns a session with its status as of now: an idle session is expired even if its row has not been updated yet.
func (s *Service) Get(ctx context.Context, scope pg.Scope, id string) (identity.SubjectSession, error) {
	v, err := identity.GetSession(ctx, s.store.Q, scope, id)
	if errors.Is(err, pg.ErrNotFound) {
		return v, problem.NewNotFound()
	}
	// The stored status may lag behind: the upkeep task that expires idle sessions runs every few minutes.
	v.Session.Status = assurance.Effective(v.Session, s.clock.Now())
	return v, err
}

// List returns a page of sessions, newest first, and the cursor of the next page. A subject id and a status restrict it;
// empty is no restriction. For an unknown subject the page is empty.
func (s *Service) List(ctx context.Context, scope pg.Scope, subjectID string, status models.SessionStatus, p pg.Page) ([]identity.SubjectSession, string, error) {
	uid := ""
	if subjectID != "" {
		sub, err := subjectrow.Get(ctx, s.store.Q, scope, subjectID)
		if errors.Is(err, pg.ErrNotFound) {
			return nil, "", nil
		}
		if err != nil {
			return nil, "", err
		}
		uid = sub.UID
	}
	rows, next, err := subjectrow.ListSessions(ctx, s.store.Q, scope, subjectrow.SessionFilter{SubjectUID: uid, Status: status}, p)
	if err != nil || len(rows) == 0 {
		return nil, next, err
	}
	uids := make([]string, len(rows))
	for i, r := range rows {
		uids[i] = r.SubjectUID
	}
	names, err := subjectrow.ExternalIDs(ctx, s.store.Q, scope, uids)
	if err != nil {
		return nil, "", err
	}
	out := make([]identity.SubjectSession, len(rows))
	for i, r := range rows {
		r.Status = assurance.Effective(r, s.clock.Now())
		out[i] = identity.SubjectSession{Session: r, Subject: models.Subject{UID: r.SubjectUID, ExternalID: names[r.SubjectUID]}}
	}
	return out, next, nil
}

// End ends a session and schedules the adaptation of the subject's template to it. Ending it twice has no effect.
func (s *Service) End(ctx context.Context, p identity.Principal, id string) (identity.SubjectSession, error) {
	now := s.clock.Now()
	var out identity.SubjectSession
	err := s.store.Write(ctx, func(q *pg.Q) error {
		v, err := template.LockSession(ctx, q, p.Store(), id)
		if errors.Is(err, pg.ErrNotFound) {
			return problem.NewNotFound()
		}
		if err != nil {
			return err
		}
		out = v
		moved, err := EndSession(ctx, q, p.Store(), id, now)
		if err != nil || !moved {
			return err
		}
		out.Session.Status, out.Session.EndedAt = models.SessionEnded, &now
		if err := template.AfterSession(ctx, q, v.Session, now); err != nil {
			return err
		}
		return events.Append(ctx, q, entry(p, v, now, events.SessionEndedData{Session: v.Session.ID}))
	})
	return out, err
}

// Assess returns the assurance profile of a session as of now.
func (s *Service) Assess(ctx context.Context, scope pg.Scope, id string) (assurance.Profile, error) {
	v, err := s.Get(ctx, scope, id)
	if err != nil {
		return assurance.Profile{}, err
	}
	heads, err := template.Heads(ctx, s.store.Q, scope, v.Subject.UID)
	if err != nil {
		return assurance.Profile{}, err
	}
	return s.assessor.Assess(v.Subject, &v.Session, heads, s.clock.Now())
}
