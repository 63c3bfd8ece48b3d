// Package backgrounds has the background models, which describe how the population behaves. The binary embeds one of each modality. A
// deployment may activate others (Loader), with the comparison that was measured before; every replica loads them at its start and on every
// change. An environment may learn its own (Service): it counts the people who enroll, forms a background of their sums, and activates it if
// it is not worse than the one in force.
//
// It stores no vector of a person: a person's share of the sums is computed from the template, again when it must be subtracted.
package backgrounds

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/moments"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// versions bounds how many versions of a template are opened to compute an earlier share.
const versions = 20

// Counter counts subjects in the sums of their environment.
type Counter struct{ assessor *assurance.Assessor }

// NewCounter returns a Counter.
func NewCounter(assessor *assurance.Assessor) Counter { return Counter{assessor} }

// person is a subject with its scope.
type person struct {
	pg.Scope
	uid string
}

// Recount makes a subject's share of the sums that of its active templates, in the transaction that changed them: one person, one share. It
// subtracts the previous share and adds the present one; a subject without active templates, or that is not active, has none. The caller has
// locked the subject. In an environment that learns nothing it does nothing.
func (c Counter) Recount(ctx context.Context, q *pg.Q, scope pg.Scope, uid string, at time.Time) error {
	choice, err := learnedChoice(ctx, q, scope)
	if err != nil || choice == models.BackgroundPrior {
		return err
	}
	shares, err := learnedShares(ctx, q, scope, uid)
	if err != nil {
		return err
	}
	active, err := c.activeTemplates(ctx, q, scope, uid)
	if err != nil {
		return err
	}
	// In the order of the schema, as every other transaction does: two that lock the sums of both modalities must not wait for each other.
	for _, m := range features.Modalities() {
		ref := scoring.Default().Background(m)
		if ref == nil {
			continue
		}
		var had *models.BackgroundShare
		for i := range shares {
			if shares[i].Modality == string(m) {
				had = &shares[i]
			}
		}
		if err := c.recount(ctx, q, change{person{scope, uid}, ref, had, active[m], at}); err != nil {
			return err
		}
	}
	return nil
}

// activeTemplates returns the active templates by modality that count; none of a subject that is not active.
func (c Counter) activeTemplates(ctx context.Context, q *pg.Q, scope pg.Scope, uid string) (map[features.Modality]*models.Template, error) {
	out := map[features.Modality]*models.Template{}
	sub, err := subjectrow.LockByUID(ctx, q, scope, uid)
	if errors.Is(err, pg.ErrNotFound) || err == nil && sub.Status != models.SubjectActive {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	rows, err := ActiveTemplate(ctx, q, scope, uid)
	// Touch keyboards and other classes of device have a timing of their own, for which no background is learned.
	for i := range rows {
		if rows[i].DeviceClass == string(scoring.Desktop) {
			out[features.Modality(rows[i].Modality)] = &rows[i]
		}
	}
	return out, err
}

// change is a change of one subject's share in one modality.
type change struct {
	person
	ref    *scoring.Background     // that the sums are relative to
	had    *models.BackgroundShare // nil if the subject was not looked at before
	active *models.Template        // nil if it has none
	at     time.Time
}

// recount changes the share of one modality. A subject whose template has too few sessions to count is stored without a digest, so that it
// is not looked at each day.
func (c Counter) recount(ctx context.Context, q *pg.Q, ch change) error {
	var now part
	if ch.active != nil {
		var err error
		if now, err = c.part(ch.ref, *ch.active); err != nil {
			return err
		}
	}
	// Equal digests are equal shares: the template was adapted, rolled back or trained anew from the same sessions.
	var before []byte
	if ch.had != nil {
		before = ch.had.Digest
	}
	switch same := bytes.Equal(before, now.digest); {
	case same && ch.had != nil && ch.active != nil:
		return nil
	case !same:
		if counted, err := c.exchange(ctx, q, ch, before, now); err != nil || !counted {
			return err
		}
	}
	if ch.active == nil {
		return dropLearnedShare(ctx, q, ch.Scope, ch.uid, string(ch.ref.Modality))
	}
	return saveLearnedShare(ctx, q, models.BackgroundShare{
		SubjectUID: ch.uid, Modality: string(ch.ref.Modality), EnvironmentID: ch.Environment, TenantID: ch.Tenant, Digest: now.digest, CountedAt: ch.at,
	})
}

// exchange subtracts the share with the digest before from the sums and adds the present one. If the sums or the earlier share cannot be
// read, it deletes the sums and returns false: everyone is counted anew.
func (c Counter) exchange(ctx context.Context, q *pg.Q, ch change, before []byte, now part) (bool, error) {
	// All shares of an environment are in one row, so that concurrent enrollments wait here for each other, for some milliseconds each.
	row, err := lockLearnedSums(ctx, q, ch.Scope, string(ch.ref.Modality))
	if err != nil {
		return false, err
	}
	sums, err := c.sums(ch.ref, row)
	if err == nil && before != nil {
		var old part
		if old, err = c.earlier(ctx, q, ch, before); err == nil {
			err = sums.Subtract(old.share)
			row.Changes++
		}
	}
	if unreadable(err) {
		return false, tenancy.ResetLearned(ctx, q, ch.Scope, string(ch.ref.Modality))
	}
	if err != nil {
		return false, err
	}
	if now.digest != nil {
		if err := sums.Add(now.share); err != nil {
			return false, err
		}
		row.Changes++
	}
	return true, c.save(ctx, q, row, sums, ch.at)
}

// errLost is returned for a share that no stored version of the template gives.
var errLost = errors.New("backgrounds: no version of the template has the share")

// unreadable reports whether sums must be formed anew: they are relative to the prior of an earlier version of the service, or a share of
// them is lost.
func unreadable(err error) bool {
	return errors.Is(err, errLost) || errors.Is(err, moments.ErrReference) || errors.Is(err, moments.ErrCodec) || errors.Is(err, moments.ErrMissing)
}

// part is the share that a template adds to the sums. Without a digest it adds nothing.
type part struct {
	share  moments.Sums // with one person in it
	digest []byte       // of the share
}

// part computes what a template adds: the sessions of its enrollment that adaptation never replaces.
func (c Counter) part(ref *scoring.Background, row models.Template) (part, error) {
	sessions, err := c.sessions(row)
	if err != nil {
		return part{}, err
	}
	share, ok := moments.Share(ref, sessions)
	if !ok {
		return part{}, nil
	}
	return part{share, share.Digest()}, nil
}

// sessions returns the sessions of a template that count; none of a template of an earlier schema. Adaptation and retraining never
// change these, so that every version of a template since its enrollment has the same share.
func (c Counter) sessions(row models.Template) ([]features.Vector, error) {
	t, err := c.assessor.OpenTemplate(row)
	if err != nil || t.SchemaVersion != features.SchemaVersion {
		return nil, err
	}
	return t.Anchors(), nil
}

// earlier returns the share with a digest, of the newest version of the template that has it; errLost if there is none.
func (c Counter) earlier(ctx context.Context, q *pg.Q, ch change, digest []byte) (part, error) {
	rows, err := learnedVersions(ctx, q, ch.Scope, ch.uid, string(ch.ref.Modality), versions)
	if err != nil {
		return part{}, err
	}
	for _, row := range rows {
		p, err := c.part(ch.ref, row)
		if err != nil {
			return part{}, err
		}
		if bytes.Equal(p.digest, digest) {
			return p, nil
		}
	}
	return part{}, errLost
}

// sums returns the sums of a row; a row without any has no people.
func (c Counter) sums(ref *scoring.Background, row models.BackgroundSums) (moments.Sums, error) {
	// The first person of the environment, or the first after its sums were deleted.
	if row.Sums == nil {
		return moments.Empty(ref), nil
	}
	raw, err := c.assessor.OpenSums(row)
	if err != nil {
		return moments.Sums{}, err
	}
	return moments.Parse(ref, raw)
}

// save seals and stores the sums. The number of people is stored in the clear: operators watch it, and it is no one's secret.
func (c Counter) save(ctx context.Context, q *pg.Q, row models.BackgroundSums, sums moments.Sums, at time.Time) error {
	raw, err := sums.MarshalBinary()
	if err != nil {
		return fmt.Errorf("backgrounds: %w", err)
	}
	row.People, row.UpdatedAt = sums.People, at
	if row.Sums, err = c.assessor.SealSums(row, raw); err != nil {
		return err
	}
	return saveLearnedSums(ctx, q, row)
}
