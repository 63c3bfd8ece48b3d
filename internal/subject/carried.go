package subject

import (
	"context"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/aggregate"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// erasedPurpose is the keyring purpose of the MAC by which the id of an erased subject is recognised, until its terms expire.
const erasedPurpose = "erased subject"

// unending is the end of a restriction that lasts until it is ended.
var unending = time.Date(9999, time.December, 31, 0, 0, 0, 0, time.UTC)

// rememberTerms stores what restricts a subject that is erased under a MAC of its id: a revocation, a stop of adaptation, the open recovery, the cap on
// claims and required challenges. Otherwise erasing a subject and creating it anew would end them.
func (s *Service) rememberTerms(ctx context.Context, q *pg.Q, row models.Subject, now time.Time) error {
	t := models.ErasedTerms{
		EnvironmentID: row.EnvironmentID, MAC: s.keys.MAC(erasedPurpose, []byte(row.EnvironmentID), []byte(row.ExternalID)), Limitations: models.Strings{},
	}
	r, err := UnfinishedRecoveryOf(ctx, q, row)
	if err != nil && !errors.Is(err, pg.ErrNotFound) {
		return err
	}
	if err == nil && now.Before(r.ExpiresAt) {
		t.Anchor, t.Limitations, t.ReadyAt, t.EndsAt, t.ExpiresAt = &r.Anchor, append(t.Limitations, r.Limitations...), &r.ReadyAt, &r.ExpiresAt, r.ExpiresAt
	}
	if row.Capped(now) {
		t.ClaimCapUntil = row.ClaimCapUntil
		if t.ExpiresAt.Before(*row.ClaimCapUntil) {
			t.ExpiresAt = *row.ClaimCapUntil
		}
	}
	if row.Suspected(now) {
		t.ChallengeUntil = row.ChallengeUntil
		if t.ExpiresAt.Before(*row.ChallengeUntil) {
			t.ExpiresAt = *row.ChallengeUntil
		}
	}
	if t.RevokedAt, t.Frozen = row.RevokedAt, row.AdaptationFrozen; t.RevokedAt != nil || t.Frozen {
		t.ExpiresAt = unending
	}
	if t.ExpiresAt.IsZero() {
		return nil
	}
	return putErasedTerms(ctx, q, t)
}

// takeOver applies the terms of an erased subject to a new one with its id: what rules count, its revocation, the stop of adaptation, the same cap on
// claims, and a recovery with the same anchor and times.
func (s *Service) takeOver(ctx context.Context, q *pg.Q, p identity.Principal, row models.Subject, now time.Time) error {
	if err := aggregate.NewVault(s.keys).TakeOver(ctx, q, row); err != nil {
		return err
	}
	macs := s.keys.MACs(erasedPurpose, []byte(row.EnvironmentID), []byte(row.ExternalID))
	t, err := takeErasedTerms(ctx, q, row.EnvironmentID, macs, now)
	if errors.Is(err, pg.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if t.Frozen {
		if _, err := SetAdaptationFrozen(ctx, q, p.Store(), row.UID, true, now); err != nil {
			return err
		}
		if err := events.Append(ctx, q, entry(p, row, now, events.SubjectAdaptationChangedData{Frozen: true})); err != nil {
			return err
		}
	}
	if t.ClaimCapUntil != nil {
		if err := SetClaimCap(ctx, q, *t.ClaimCapUntil, entry(p, row, now, nil)); err != nil {
			return err
		}
	}
	if t.ChallengeUntil != nil {
		if err := Suspect(ctx, q, *t.ChallengeUntil, entry(p, row, now, nil)); err != nil {
			return err
		}
	}
	if err := takeOverRecovery(ctx, q, p, row, t, now); err != nil || t.RevokedAt == nil {
		return err
	}
	if _, err := RevokeSubject(ctx, q, p.Store(), row.UID, now); err != nil {
		return err
	}
	return events.Append(ctx, q, entry(p, row, now, events.SubjectRevokedData{ProofsRevoked: new(int)}))
}

// takeOverRecovery goes on with the recovery of an erased subject.
func takeOverRecovery(ctx context.Context, q *pg.Q, p identity.Principal, row models.Subject, t models.ErasedTerms, now time.Time) error {
	if t.Anchor == nil || !now.Before(*t.EndsAt) {
		return nil
	}
	r := models.Recovery{
		ID: ids.New(ids.Recovery), TenantID: row.TenantID, EnvironmentID: row.EnvironmentID, SubjectUID: row.UID, Status: models.RecoveryPending,
		Anchor: *t.Anchor, Limitations: t.Limitations, CreatedAt: now, ReadyAt: *t.ReadyAt, ExpiresAt: *t.EndsAt,
	}
	if _, err := CreateRecovery(ctx, q, r); err != nil {
		return err
	}
	data := events.RecoveryStartedData{
		Recovery: r.ID, Anchor: r.Anchor, ReadyAt: apitime.Time(r.ReadyAt), ExpiresAt: apitime.Time(r.ExpiresAt), Limitations: append([]string{}, r.Limitations...),
	}
	if err := events.Append(ctx, q, entry(p, row, now, data)); err != nil {
		return err
	}
	return outbox.Add(ctx, q, outbox.Item{Topic: outbox.TopicRecoveryStart, Environment: r.EnvironmentID, Ref: r.ID, At: now})
}
