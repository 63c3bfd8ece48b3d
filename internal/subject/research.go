package subject

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/subject/research"
	"github.com/countersign-dev/countersign/models"
)

// Consent is the current consent of a subject to research (ResearchConsentRecord of the contract).
type Consent struct {
	Consented  bool
	RecordedAt time.Time
}

// SetConsent records the subject's consent, or its withdrawal, in the ledger. A withdrawal deletes the subject's research
// vectors in the same transaction. Repeating the current consent records nothing.
func (s *Service) SetConsent(ctx context.Context, p identity.Principal, id string, consented bool) (Consent, error) {
	out := Consent{Consented: consented}
	_, err := s.change(ctx, p, id, !consented, func(q *pg.Q, row models.Subject, now time.Time) error {
		out.RecordedAt = now
		changed, err := research.RecordConsent(ctx, q, p.Store(), models.ResearchConsent{
			ID: ids.New(ids.Research), EnvironmentID: row.EnvironmentID, SubjectUID: row.UID, Consented: consented, RecordedAt: now,
		})
		if err != nil {
			return err
		}
		data := events.SubjectConsentChangedData{Consented: consented}
		if !consented {
			// Delete vectors even if the consent was already withdrawn; the event is recorded if there were any.
			removed, err := s.research.Forget(ctx, q, row.EnvironmentID, row.UID)
			if err != nil {
				return err
			}
			data.VectorsRemoved = &removed
			changed = changed || removed > 0
		}
		if !changed {
			return nil
		}
		return events.Append(ctx, q, entry(p, row, now, data))
	})
	return out, err
}
