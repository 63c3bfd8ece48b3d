// Package recovery replaces the templates of a subject that can no longer be trusted. A recovery ends everything that is open
// for the subject at once, and then cools down before a new enrollment may complete it: the weaker the anchor that vouches for
// the person, the longer.
//
// The statuses and the transitions between them are listed at nextStatus, the durations at TermsOf; Open decides which recoveries
// are open. After a recovery with the weakest anchor, claims about the subject stay capped for some days: an impostor who waited
// out the cool-down, or the whole recovery, is not confirmed at once.
//
// A workflow waits; this package makes the transitions, each one a conditional UPDATE that names the expected state. It may not
// train templates or read evidence. Of the relying party's evidence reference it stores only the digest.
package recovery

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/authz/backgrounds"
	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/displaytext"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/models"
)

// LimitationCap is the limitation of a recovery with the anchor none: claims of the subject are capped at likely for some time.
// It is also the reason code of assessments during that time.
const LimitationCap = "recovery_cap"

// LimitationCooling is the reason code of evidence, and of results of the earlier contract's operations, before a recovery is
// ready.
const LimitationCooling = "recovery_cooling_down"

// Service manages recoveries.
type Service struct {
	store   *pg.Store
	clock   clock.Clock
	counter backgrounds.Counter
}

// New returns the service. The counter subtracts what the retired templates added to the sums of their environment.
func New(st *pg.Store, c clock.Clock, counter backgrounds.Counter) *Service {
	return &Service{store: st, clock: c, counter: counter}
}

// Begin is the request for a recovery (RecoveryBegin of the contract).
type Begin struct {
	Anchor      string  `json:"anchor"`              // one of the Anchor constants
	EvidenceRef *string `json:"anchor_evidence_ref"` // required unless the anchor is none; only its digest is stored
	Reference   string  `json:"reference"`           // to the case, such as a ticket; empty for none
}

// View is a recovery with the relying party's id of its subject and the status as of the time of the query.
type View struct {
	models.Recovery
	Subject string
}

// MarshalJSON writes the contract's Recovery.
func (v View) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		ID          string                `json:"id"`
		Subject     string                `json:"subject"`
		Status      models.RecoveryStatus `json:"status"`
		Anchor      string                `json:"anchor"`
		CreatedAt   string                `json:"created_at"`
		ReadyAt     string                `json:"ready_at"`
		ExpiresAt   string                `json:"expires_at"`
		Limitations models.Strings        `json:"limitations"`
		Reference   string                `json:"reference,omitempty"`
	}{
		v.ID, v.Subject, v.Status, v.Anchor, apitime.Time(v.CreatedAt), apitime.Time(v.ReadyAt), apitime.Time(v.ExpiresAt), append(models.Strings{}, v.Limitations...),
		v.Reference,
	})
}

// Begin starts a recovery: the same transaction ends open challenges, proofs, client tokens and sessions, and retires the
// templates. It returns the problem recovery_in_progress while a recovery is open, subject_revoked for a revoked subject, and
// anchor_unavailable for the anchor passkey if the subject has none.
func (s *Service) Begin(ctx context.Context, p identity.Principal, subjectID string, in Begin) (View, error) {
	if in.Anchor != AnchorNone && in.EvidenceRef == nil {
		return View{}, problem.Invalid([]any{"body", "anchor_evidence_ref"},
			"anchor_evidence_ref is required with an anchor other than none.", "missing_for_anchor")
	}
	if err := displaytext.Check("reference", in.Reference); in.Reference != "" && err != nil {
		return View{}, err
	}
	now, view := s.clock.Now(), View{Subject: subjectID}
	err := s.store.Write(ctx, func(q *pg.Q) error {
		sub, err := subjectrow.Lock(ctx, q, p.Store(), subjectID)
		if errors.Is(err, pg.ErrNotFound) {
			return problem.NewNotFound()
		}
		if err != nil {
			return err
		}
		if err := checkAnchor(ctx, q, sub, in.Anchor); err != nil {
			return err
		}
		view.Recovery = newRecovery(p, sub, in, now)
		if err := create(ctx, q, sub, view.Recovery); err != nil {
			return err
		}
		if err := startOver(ctx, q, p, sub, view.Recovery); err != nil {
			return err
		}
		return s.counter.Recount(ctx, q, p.Store(), sub.UID, now)
	})
	return view, err
}

// checkAnchor checks the preconditions of the anchor. The relying party verifies the evidence of anchors other than passkey.
func checkAnchor(ctx context.Context, q *pg.Q, sub models.Subject, anchor string) error {
	if sub.Status == models.SubjectRevoked {
		return problem.New(problem.SubjectRevoked, "The subject is revoked and cannot recover.")
	}
	if anchor != AnchorPasskey {
		return nil
	}
	passkeys, err := challenge.ActivePasskeys(ctx, q, pg.Scope{Tenant: sub.TenantID, Environment: sub.EnvironmentID}, sub.UID)
	if err == nil && len(passkeys) == 0 {
		return problem.New(problem.AnchorUnavailable, "The subject has no passkey to recover by.")
	}
	return err
}

// newRecovery returns the row of a new recovery with the terms of its anchor.
func newRecovery(p identity.Principal, sub models.Subject, in Begin, now time.Time) models.Recovery {
	terms := TermsOf(p.Kind, in.Anchor)
	r := models.Recovery{
		ID: ids.New(ids.Recovery), TenantID: p.TenantID, EnvironmentID: p.EnvironmentID, SubjectUID: sub.UID,
		Status: models.RecoveryPending, Anchor: in.Anchor, Reference: in.Reference, CreatedAt: now, ReadyAt: now.Add(terms.CoolDown), ExpiresAt: now.Add(terms.Life),
	}
	if in.EvidenceRef != nil {
		digest := canonical.DigestBytes([]byte(*in.EvidenceRef))
		r.AnchorEvidenceDigest = &digest
	}
	if terms.Cap > 0 {
		r.Limitations = models.Strings{LimitationCap}
	}
	return r
}

// create stores a new recovery, or returns the problem recovery_in_progress while one is open.
func create(ctx context.Context, q *pg.Q, sub models.Subject, r models.Recovery) error {
	_, open, err := lockOpen(ctx, q.AsStored(), sub, r.CreatedAt) // ends one that is past its end
	created := false
	if err == nil && !open {
		created, err = subject.CreateRecovery(ctx, q, r)
	}
	if err == nil && !created {
		return problem.New(problem.RecoveryInProgress, "A recovery of this subject is in progress.")
	}
	return err
}

// startOver ends what is open for the subject and what accepts its evidence, resets its templates and schedules the workflow.
func startOver(ctx context.Context, q *pg.Q, p identity.Principal, sub models.Subject, r models.Recovery) error {
	e := entry(r, sub, r.CreatedAt, p.Actor(), recoveryData(r))
	e.RequestID = p.RequestID
	if err := events.Append(ctx, q, e); err != nil {
		return err
	}
	// The event of the cause precedes the events of its effects.
	void := subject.Void{Subject: sub, Reason: subject.ReasonRecovery, At: r.CreatedAt, Actor: p.Actor(), RequestID: p.RequestID}
	if err := void.Open(ctx, q); err != nil {
		return err
	}
	if err := resetTemplates(ctx, q, p, sub, r); err != nil {
		return err
	}
	if terms := TermsOf(p.Kind, r.Anchor); terms.Cap > 0 {
		if err := subject.SetClaimCap(ctx, q, r.ReadyAt.Add(terms.Cap), e); err != nil {
			return err
		}
	}
	return outbox.Add(ctx, q, outbox.Item{Topic: outbox.TopicRecoveryStart, Environment: r.EnvironmentID, Ref: r.ID, At: r.CreatedAt})
}

// resetTemplates retires all templates of the subject and withdraws its enrollment grant.
func resetTemplates(ctx context.Context, q *pg.Q, p identity.Principal, sub models.Subject, r models.Recovery) error {
	retired, err := RetireTemplatesOfSubject(ctx, q, p.Store(), sub.UID, r.CreatedAt)
	if err != nil {
		return err
	}
	// The timing template of /enrol is a template too.
	timing, err := subject.SetTimingTemplate(ctx, q, p.Store(), sub.UID, nil, r.CreatedAt)
	if err != nil {
		return err
	}
	if timing {
		retired++
	}
	if err := subjectrow.ClearEnrollmentRequest(ctx, q, p.Store(), sub.UID); err != nil {
		return err
	}
	if err := subject.SetEnrollment(ctx, q, p.Store(), sub.UID, models.EnrollmentNone, r.CreatedAt); err != nil || retired == 0 {
		return err
	}
	e := entry(r, sub, r.CreatedAt, p.Actor(), events.TemplateResetData{Templates: retired, Recovery: r.ID})
	e.RequestID = p.RequestID
	return events.Append(ctx, q, e)
}

// Get returns the subject's newest recovery, or the problem not_found if there is none.
func (s *Service) Get(ctx context.Context, scope pg.Scope, subjectID string) (View, error) {
	sub, err := subjectrow.Get(ctx, s.store.AsStored(), scope, subjectID)
	if err == nil {
		var r models.Recovery
		if r, err = NewestRecovery(ctx, s.store.AsStored(), scope, sub.UID); err == nil {
			r.Status = Effective(r, s.clock.Now())
			return View{Recovery: r, Subject: subjectID}, nil
		}
	}
	if errors.Is(err, pg.ErrNotFound) {
		return View{}, problem.NewNotFound()
	}
	return View{}, err
}

func entry(r models.Recovery, sub models.Subject, at time.Time, actor string, data events.Data) events.Entry {
	return events.Entry{
		Scope: pg.Scope{Tenant: r.TenantID, Environment: r.EnvironmentID}, At: at, SubjectUID: sub.UID,
		Subject: sub.ExternalID, Actor: actor, Data: data,
	}
}

// recoveryData describes the recovery as each of its events does; the list of limitations is never null.
func recoveryData(r models.Recovery) events.RecoveryStartedData {
	return events.RecoveryStartedData{
		Recovery: r.ID, Anchor: r.Anchor, ReadyAt: apitime.Time(r.ReadyAt), ExpiresAt: apitime.Time(r.ExpiresAt),
		Limitations: append([]string{}, r.Limitations...),
	}
}
