package subject

import (
	"context"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/authz/backgrounds"
	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/authz/standing"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/platform/admission"
	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/subject/research"
	"github.com/countersign-dev/countersign/models"
)

// Service manages the subjects of all environments. It is safe for concurrent use.
type Service struct {
	store    *pg.Store
	keys     *keyring.Keyring
	open     Opener
	clock    clock.Clock
	research *research.Service   // for erasure and export; it stores no vectors here
	exports  *admission.Gate     // limits concurrent exports
	counter  backgrounds.Counter // subtracts what a subject added to the sums of its environment
}

// New returns the service. Open unseals stored templates and session states for exports.
func New(st *pg.Store, keys *keyring.Keyring, open Opener, c clock.Clock) *Service {
	return &Service{
		counter: backgrounds.NewCounter(assurance.New(scoring.Default(), keys)),
		store:   st, keys: keys, open: open, clock: c, research: research.New(st, keys, false), exports: admission.New(exportsAtOnce, exportsEach, exportsQueue),
	}
}

// View is a subject with its active passkeys, as the API shows it.
type View struct {
	models.Subject
	Passkeys []models.Passkey
}

// Create creates a subject with the relying party's id, or with a generated one if it is empty. It returns the problem
// subject_exists if the environment has a subject with the id.
func (s *Service) Create(ctx context.Context, p identity.Principal, id string) (View, error) {
	now := s.clock.Now()
	row := models.Subject{
		UID: ids.New(ids.Subject), TenantID: p.TenantID, EnvironmentID: p.EnvironmentID, ExternalID: id,
		Status: models.SubjectActive, Enrollment: models.EnrollmentNone, CreatedAt: now, UpdatedAt: now,
	}
	if id == "" {
		// Not the uid, which must not leave the service.
		row.ExternalID = ids.New(ids.Subject)
	}
	err := s.store.Write(ctx, func(q *pg.Q) error {
		created, err := subjectrow.Create(ctx, q, row)
		if err != nil {
			return err
		}
		if !created {
			return problem.New(problem.SubjectExists, "A subject with this id already exists in the environment.")
		}
		if err := events.Append(ctx, q, entry(p, row, now, events.SubjectCreatedData{})); err != nil {
			return err
		}
		if err := s.takeOver(ctx, q, p, row, now); err != nil {
			return err
		}
		row, err = subjectrow.GetByUID(ctx, q, p.Store(), row.UID)
		return err
	})
	return View{Subject: row}, err
}

// Get returns a subject by the relying party's id. It returns the problem not_found if there is none.
func (s *Service) Get(ctx context.Context, scope pg.Scope, id string) (View, error) {
	row, err := subjectrow.Get(ctx, s.store.AsStored(), scope, id)
	if err != nil {
		return View{}, notFound(err)
	}
	return s.view(ctx, row)
}

// List returns a page of subjects, newest first, and the cursor of the next page.
func (s *Service) List(ctx context.Context, scope pg.Scope, f Filter, page pg.Page) ([]View, string, error) {
	rows, next, err := ListSubjects(ctx, s.store.Q, scope, f, page)
	if err != nil {
		return nil, "", err
	}
	// One query finds the passkeys of all subjects of the page.
	views, uids, place := make([]View, len(rows)), make([]string, len(rows)), make(map[string]int, len(rows))
	for i, r := range rows {
		views[i], uids[i], place[r.UID] = View{Subject: r}, r.UID, i
	}
	passkeys, err := challenge.ActivePasskeys(ctx, s.store.AsStored(), scope, uids...)
	for _, p := range passkeys {
		v := &views[place[p.SubjectUID]]
		v.Passkeys = append(v.Passkeys, p)
	}
	return views, next, err
}

// Freeze stops the subject's templates from adapting to new sessions, which ends the subject's standing approvals, or resumes adaptation. Repeating it has no effect and
// records no event.
func (s *Service) Freeze(ctx context.Context, p identity.Principal, id string, frozen bool, reason string) (View, error) {
	return s.change(ctx, p, id, frozen, func(q *pg.Q, row models.Subject, now time.Time) error {
		changed, err := SetAdaptationFrozen(ctx, q, p.Store(), row.UID, frozen, now)
		if err != nil || !changed {
			return err
		}
		data := events.SubjectAdaptationChangedData{Frozen: frozen, ReasonDigest: reasonDigest(reason)}
		if err := events.Append(ctx, q, entry(p, row, now, data)); err != nil || !frozen {
			return err
		}
		end := standing.Ending{Reason: standing.ReasonFrozen, By: p.Actor(), RequestID: p.RequestID, At: now}
		return end.OfSubject(ctx, q, p.Store(), row.UID, now)
	})
}

// Revoke ends a subject: it ends what pg.OfSubject says, and every later decision is deny.
// Open challenges and holds are left open: the follow-up decision after completing or approving one is deny. Revoking twice has no effect.
func (s *Service) Revoke(ctx context.Context, p identity.Principal, id, reason string) (View, error) {
	return s.change(ctx, p, id, true, func(q *pg.Q, row models.Subject, now time.Time) error {
		return s.RevokeIn(ctx, q, Void{Subject: row, At: now, Actor: p.Actor(), RequestID: p.RequestID}, reason)
	})
}

// RevokeIn is Revoke in the caller's transaction, in which the subject of the Void is locked.
func (s *Service) RevokeIn(ctx context.Context, q *pg.Q, v Void, reason string) error {
	v.Reason, v.Before = ReasonRevoked, time.Time{}
	q = q.AsStored()
	scope := scopeOf(v.Subject)
	revoked, err := RevokeSubject(ctx, q, scope, v.Subject.UID, v.At)
	if err != nil || !revoked {
		return err
	}
	// The event of the cause has the number of proofs, and precedes the events of the proofs.
	proofs, err := v.revokeProofs(ctx, q)
	if err != nil {
		return err
	}
	data := events.SubjectRevokedData{ProofsRevoked: new(len(proofs)), ReasonDigest: reasonDigest(reason)}
	if err := events.Append(ctx, q, v.entry(data, challenge.Voided{})); err != nil {
		return err
	}
	if err := v.recordProofs(ctx, q, proofs); err != nil {
		return err
	}
	if err := s.counter.Recount(ctx, q, scope, v.Subject.UID, v.At); err != nil {
		return err
	}
	return v.Open(ctx, q)
}

// change calls f with the locked subject in one transaction and returns the subject as it is afterwards. A change that tightens takes the row as it is.
func (s *Service) change(ctx context.Context, p identity.Principal, id string, tightens bool, f func(*pg.Q, models.Subject, time.Time) error) (View, error) {
	var after models.Subject
	now := s.clock.Now()
	err := s.store.Write(ctx, func(q *pg.Q) error {
		if tightens {
			q = q.AsStored()
		}
		row, err := subjectrow.Lock(ctx, q, p.Store(), id)
		if err != nil {
			return notFound(err)
		}
		if err := f(q, row, now); err != nil {
			return err
		}
		after, err = subjectrow.GetByUID(ctx, q, p.Store(), row.UID)
		return err
	})
	if err != nil {
		return View{}, err
	}
	return s.view(ctx, after)
}

// view adds the subject's active passkeys.
func (s *Service) view(ctx context.Context, row models.Subject) (View, error) {
	passkeys, err := challenge.ActivePasskeys(ctx, s.store.AsStored(), scopeOf(row), row.UID)
	return View{Subject: row, Passkeys: passkeys}, err
}

// scopeOf returns the scope of the subject's environment.
func scopeOf(row models.Subject) pg.Scope {
	return pg.Scope{Tenant: row.TenantID, Environment: row.EnvironmentID}
}

// notFound turns the store's error for a missing row into the problem that the caller gets.
func notFound(err error) error {
	if errors.Is(err, pg.ErrNotFound) {
		return problem.NewNotFound()
	}
	return err
}

// reasonDigest is the digest of a reason; empty for no reason.
func reasonDigest(reason string) string {
	if reason == "" {
		return ""
	}
	return canonical.DigestBytes([]byte(reason))
}

// entry returns an event about the subject with the caller as its actor.
func entry(p identity.Principal, row models.Subject, at time.Time, data events.Data) events.Entry {
	return events.Entry{
		Scope: p.Store(), At: at, SubjectUID: row.UID, Subject: row.ExternalID, Actor: p.Actor(),
		RequestID: p.RequestID, Data: data,
	}
}
