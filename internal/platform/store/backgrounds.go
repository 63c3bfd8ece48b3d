package store

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/models"
)

// Backgrounds stores the backgrounds of the scorer: the models of how people in general behave.
type Backgrounds struct{ *Q }

// Backgrounds returns the queries of the aggregate.
func (q *Q) Backgrounds() Backgrounds { return Backgrounds{q} }

// List returns every background that is or was active, oldest first.
func (q Backgrounds) List(ctx context.Context) ([]models.Background, error) {
	var rows []models.Background
	err := q.gorm(ctx).Order("activated_at, version").Find(&rows).Error
	return rows, err
}

// Activate activates a background in place of the active one of its modality and notifies every process. Concurrent
// activations wait for each other. A version that was active before can be activated again, with its stored body.
func (q Backgrounds) Activate(ctx context.Context, b models.Background) error {
	if _, err := q.exec(ctx, "select pg_advisory_xact_lock(hashtext('backgrounds'))"); err != nil {
		return err
	}
	if err := q.Retire(ctx, b.Modality, b.ActivatedAt); err != nil {
		return err
	}
	_, err := q.exec(ctx, `insert into backgrounds (version, modality, status, body, digest, comparison, activated_by, activated_at)
		values ($1, $2, 'active', $3, $4, $5, $6, $7)
		on conflict (version) do update set status = 'active', comparison = excluded.comparison, activated_by = excluded.activated_by,
		activated_at = excluded.activated_at, retired_at = null`,
		b.Version, b.Modality, b.Body, b.Digest, b.Comparison, b.ActivatedBy, b.ActivatedAt)
	if err != nil {
		return err
	}
	return q.Notify(ctx, ChannelBackground, b.Version)
}

// Retire deactivates the background of a modality. The background embedded in the binary applies again.
func (q Backgrounds) Retire(ctx context.Context, modality string, at time.Time) error {
	if _, err := q.exec(ctx, "update backgrounds set status = 'retired', retired_at = $2 where modality = $1 and status = 'active'", modality, at); err != nil {
		return err
	}
	return q.Notify(ctx, ChannelBackground, "")
}
