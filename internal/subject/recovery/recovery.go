// Package recovery lets a subject whose template can no longer be trusted start over. A recovery voids what is open for
// the subject at once, ends the channels that its evidence comes in by, then waits: the weaker what vouches for the person, the longer. A new enrollment completes it.
//
// The waiting is a run in package workflows; this package makes the moves, each one conditional UPDATE that names the
// state it expects. It may not train templates or read evidence, and it keeps of the relying party's evidence reference
// its digest only.
package recovery

import (
	"context"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/models"
)

// LimitationCap is the limitation of a recovery with anchor none: claims of the subject are capped at likely for a while.
// It is the reason code that assessments then carry.
const LimitationCap = "recovery_cap"

// LimitationCooling is the reason code of evidence, and of answers of the earlier operations, before a recovery is ready.
const LimitationCooling = "recovery_cooling_down"

// Service keeps recoveries.
type Service struct {
	store *store.Store
	clock clock.Clock
}

// New makes the service.
func New(st *store.Store, c clock.Clock) *Service { return &Service{store: st, clock: c} }

// Begin is RecoveryBegin.
type Begin struct {
	Anchor      string  `json:"anchor"`
	EvidenceRef *string `json:"anchor_evidence_ref"`
}

// View is a recovery with its subject's own id; its status is the one at the time of asking.
type View struct {
	models.Recovery
	Subject string
}

// Begin starts a recovery: open challenges and proofs are void and the templates retired in the same transaction. It is
// refused while one is open, for a revoked subject, and where the anchor is not to be had.
func (s *Service) Begin(ctx context.Context, p identity.Principal, subjectID string, in Begin) (View, error) {
	if in.Anchor != AnchorNone && in.EvidenceRef == nil {
		return View{}, problem.Invalid([]any{"body", "anchor_evidence_ref"},
			"anchor_evidence_ref is required with an anchor other than none.", "missing_for_anchor")
	}
	now, view := s.clock.Now(), View{Subject: subjectID}
	err := s.store.Write(ctx, func(q *store.Q) error {
		sub, err := q.Subjects().Lock(ctx, p.Store(), subjectID)
		if errors.Is(err, store.ErrNotFound) {
			return problem.NewNotFound()
		}
		if err != nil {
			return err
		}
		if err := checkAnchor(ctx, q, sub, in.Anchor); err != nil {
			return err
		}
		view.Recovery = newRecovery(p, sub, in, now)
		created, err := q.Recoveries().Create(ctx, view.Recovery)
		if err != nil {
			return err
		}
		if !created {
			return problem.New(problem.RecoveryInProgress, "A recovery of this subject is under way.")
		}
		return startOver(ctx, q, p, sub, view.Recovery)
	})
	return view, err
}

// permitted checks what the anchor presupposes. The evidence behind the other anchors is with the relying party.
func checkAnchor(ctx context.Context, q *store.Q, sub models.Subject, anchor string) error {
	if sub.Status == models.SubjectRevoked {
		return problem.New(problem.SubjectRevoked, "The subject is revoked and cannot recover.")
	}
	if anchor != AnchorPasskey {
		return nil
	}
	passkeys, err := q.Passkeys().Active(ctx, store.Scope{Tenant: sub.TenantID, Environment: sub.EnvironmentID}, sub.UID)
	if err == nil && len(passkeys) == 0 {
		return problem.New(problem.AnchorUnavailable, "The subject has no passkey to recover by.")
	}
	return err
}

func newRecovery(p identity.Principal, sub models.Subject, in Begin, now time.Time) models.Recovery {
	terms := TermsOf(p.Kind, in.Anchor)
	r := models.Recovery{
		ID: ids.New(ids.Recovery), TenantID: p.TenantID, EnvironmentID: p.EnvironmentID, SubjectUID: sub.UID,
		Status: models.RecoveryPending, Anchor: in.Anchor, CreatedAt: now, ReadyAt: now.Add(terms.CoolDown), ExpiresAt: now.Add(terms.Life),
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

// startOver voids what is open, ends the channels that evidence comes in by, resets the templates and has the run started.
func startOver(ctx context.Context, q *store.Q, p identity.Principal, sub models.Subject, r models.Recovery) error {
	e := entry(r, sub, events.RecoveryStarted, r.CreatedAt, p.Actor())
	e.RequestID = p.RequestID
	if err := events.Append(ctx, q, e); err != nil {
		return err
	}
	void := subject.Void{Subject: sub, Reason: subject.ReasonRecovery, At: r.CreatedAt, Actor: p.Actor(), RequestID: p.RequestID}
	if _, err := void.Proofs(ctx, q); err != nil {
		return err
	}
	if _, err := void.Challenges(ctx, q); err != nil {
		return err
	}
	if err := void.Channels(ctx, q); err != nil {
		return err
	}
	if err := resetTemplates(ctx, q, p, sub, r); err != nil {
		return err
	}
	if terms := TermsOf(p.Kind, r.Anchor); terms.Cap > 0 {
		if err := q.Subjects().SetClaimCap(ctx, p.Store(), sub.UID, r.ReadyAt.Add(terms.Cap), r.CreatedAt); err != nil {
			return err
		}
	}
	return outbox.Add(ctx, q, outbox.Item{Topic: outbox.TopicRecoveryStart, Environment: r.EnvironmentID, Ref: r.ID, At: r.CreatedAt})
}

func resetTemplates(ctx context.Context, q *store.Q, p identity.Principal, sub models.Subject, r models.Recovery) error {
	retired, err := q.Templates().RetireOfSubject(ctx, p.Store(), sub.UID, r.CreatedAt)
	if err != nil {
		return err
	}
	// What /enrol learned is a template too.
	timing, err := q.TimingTemplates().Drop(ctx, p.Store(), sub.UID, r.CreatedAt)
	if err != nil {
		return err
	}
	if timing {
		retired++
	}
	if err := q.Subjects().EndEnrollmentGrant(ctx, p.Store(), sub.UID); err != nil {
		return err
	}
	if err := q.Subjects().SetEnrollment(ctx, p.Store(), sub.UID, models.EnrollmentNone, r.CreatedAt); err != nil || retired == 0 {
		return err
	}
	e := entry(r, sub, events.TemplateReset, r.CreatedAt, p.Actor())
	e.RequestID, e.Data = p.RequestID, map[string]any{"templates": retired, "recovery": r.ID}
	return events.Append(ctx, q, e)
}

// Get answers the subject's newest recovery.
func (s *Service) Get(ctx context.Context, scope store.Scope, subjectID string) (View, error) {
	sub, err := s.store.Subjects().Get(ctx, scope, subjectID)
	if err == nil {
		var r models.Recovery
		if r, err = s.store.Recoveries().Newest(ctx, scope, sub.UID); err == nil {
			r.Status = Effective(r, s.clock.Now())
			return View{Recovery: r, Subject: subjectID}, nil
		}
	}
	if errors.Is(err, store.ErrNotFound) {
		return View{}, problem.NewNotFound()
	}
	return View{}, err
}

func entry(r models.Recovery, sub models.Subject, t events.Type, at time.Time, actor string) events.Entry {
	return events.Entry{
		Scope: store.Scope{Tenant: r.TenantID, Environment: r.EnvironmentID}, Type: t, At: at, SubjectUID: sub.UID,
		Subject: sub.ExternalID, Actor: actor, Data: map[string]any{
			"recovery": r.ID, "anchor": r.Anchor, "ready_at": apitime.Time(r.ReadyAt), "expires_at": apitime.Time(r.ExpiresAt),
			"limitations": anySlice(r.Limitations),
		},
	}
}

// words is the list as it is written into an event: never null.
func anySlice(in models.Strings) []any {
	out := make([]any, len(in))
	for i, w := range in {
		out[i] = w
	}
	return out
}
