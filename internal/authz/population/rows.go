package population

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// ListBackgrounds returns every background that is or was active, oldest first.
func ListBackgrounds(ctx context.Context, q *pg.Q) ([]models.Background, error) {
	var rows []models.Background
	err := q.Gorm(ctx).Order("activated_at, version").Find(&rows).Error
	return rows, err
}

// activateBackground activates a background in place of the active one of its modality and notifies every process. Concurrent
// activations wait for each other. A version that was active before can be activated again, with its stored body.
func activateBackground(ctx context.Context, q *pg.Q, b models.Background) error {
	if _, err := q.Exec(ctx, "select pg_advisory_xact_lock(hashtext('backgrounds'))"); err != nil {
		return err
	}
	if err := retireBackground(ctx, q, b.Modality, b.ActivatedAt); err != nil {
		return err
	}
	_, err := q.Exec(ctx, `insert into backgrounds (version, modality, status, body, digest, comparison, activated_by, activated_at)
		values ($1, $2, 'active', $3, $4, $5, $6, $7)
		on conflict (version) do update set status = 'active', comparison = excluded.comparison, activated_by = excluded.activated_by,
		activated_at = excluded.activated_at, retired_at = null`,
		b.Version, b.Modality, b.Body, b.Digest, b.Comparison, b.ActivatedBy, b.ActivatedAt)
	if err != nil {
		return err
	}
	return q.Notify(ctx, pg.ChannelBackground, b.Version)
}

// retireBackground deactivates the background of a modality. The background embedded in the binary applies again.
func retireBackground(ctx context.Context, q *pg.Q, modality string, at time.Time) error {
	if _, err := q.Exec(ctx, "update backgrounds set status = 'retired', retired_at = $2 where modality = $1 and status = 'active'", modality, at); err != nil {
		return err
	}
	return q.Notify(ctx, pg.ChannelBackground, "")
}
