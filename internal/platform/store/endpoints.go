package store

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/models"
)

// Endpoints stores webhook endpoints and their signing secrets.
type Endpoints struct{ *Q }

// Endpoints returns the queries of the aggregate.
func (q *Q) Endpoints() Endpoints { return Endpoints{q} }

// Enabled returns the enabled endpoints of an environment.
func (q Endpoints) Enabled(ctx context.Context, environment string) ([]models.WebhookEndpoint, error) {
	var rows []models.WebhookEndpoint
	err := q.gorm(ctx).Where("environment_id = ? and status = 'enabled' and deleted_at is null", environment).Find(&rows).Error
	return rows, err
}

// ClaimWake claims the endpoints whose senders are not awake, until a time, and returns their ids. The caller wakes
// those.
func (q Endpoints) ClaimWake(ctx context.Context, endpoints []string, now, until time.Time) ([]string, error) {
	var ids []string
	err := q.gorm(ctx).Raw(`update webhook_endpoints set quiet_until = ? where id in ? and (quiet_until is null or quiet_until < ?)
		returning id`, until, endpoints, now).Find(&ids).Error
	return ids, err
}

// SetQuietUntil records until when the sender of an endpoint looks for deliveries by itself and need not be woken; nil
// ends that. It reports whether the endpoint exists and is enabled.
func (q Endpoints) SetQuietUntil(ctx context.Context, endpoint string, until *time.Time) (bool, error) {
	n, err := q.exec(ctx, "update webhook_endpoints set quiet_until = $2 where id = $1 and status = 'enabled' and deleted_at is null", endpoint, until)
	return n > 0, err
}

// Overdue returns the enabled endpoints that have a delivery due before t and whose sender is not awake.
func (q Endpoints) Overdue(ctx context.Context, t time.Time) ([]models.WebhookEndpoint, error) {
	var rows []models.WebhookEndpoint
	err := q.gorm(ctx).Raw(`select e.* from webhook_endpoints e where e.status = 'enabled' and e.deleted_at is null
		and (e.quiet_until is null or e.quiet_until < ?)
		and exists (select 1 from webhook_deliveries d where d.environment_id = e.environment_id and d.endpoint_id = e.id and d.status = 'pending' and d.next_attempt_at < ?)`,
		t, t).Find(&rows).Error
	return rows, err
}

// RecordSuccess records that an endpoint responds and is no longer failing.
func (q Endpoints) RecordSuccess(ctx context.Context, endpoint string) error {
	_, err := q.exec(ctx, "update webhook_endpoints set failing_since = null where id = $1 and failing_since is not null", endpoint)
	return err
}

// RecordFailure records a failure and returns the time since when the endpoint has been failing without a success.
func (q Endpoints) RecordFailure(ctx context.Context, endpoint string, at time.Time) (time.Time, error) {
	var since time.Time
	err := q.queryRow(ctx, "update webhook_endpoints set failing_since = least(failing_since, $2) where id = $1 returning failing_since",
		endpoint, at).Scan(&since)
	return orNotFound(since, err)
}

// Create inserts a webhook endpoint with its first secret. It returns false and inserts nothing if the environment has
// limit endpoints already.
func (q Endpoints) Create(ctx context.Context, e models.WebhookEndpoint, secret models.WebhookSecret, limit int) (bool, error) {
	// Locks the environment, so that one of two concurrent calls at the limit is refused.
	if _, err := q.exec(ctx, "select 1 from environments where id = $1 for update", e.EnvironmentID); err != nil {
		return false, err
	}
	var have int64
	if err := q.gorm(ctx).Model(&models.WebhookEndpoint{}).
		Where("environment_id = ? and deleted_at is null", e.EnvironmentID).Count(&have).Error; err != nil {
		return false, err
	}
	if have >= int64(limit) {
		return false, nil
	}
	if err := q.gorm(ctx).Create(&e).Error; err != nil {
		return false, err
	}
	return true, q.gorm(ctx).Create(&secret).Error
}

// Get returns a webhook endpoint that is not deleted.
func (q Endpoints) Get(ctx context.Context, s Scope, id string) (models.WebhookEndpoint, error) {
	var e models.WebhookEndpoint
	err := q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and id = ? and deleted_at is null", s.Tenant, s.Environment, id).
		Take(&e).Error
	return orNotFound(e, err)
}

// ByID returns an endpoint by its id alone, for its sender, which knows no scope.
func (q Endpoints) ByID(ctx context.Context, id string) (models.WebhookEndpoint, error) {
	var e models.WebhookEndpoint
	return orNotFound(e, q.gorm(ctx).Where("id = ? and deleted_at is null", id).Take(&e).Error)
}

// Lock returns an endpoint and locks its row until the transaction ends.
func (q Endpoints) Lock(ctx context.Context, s Scope, id string) (models.WebhookEndpoint, error) {
	var e models.WebhookEndpoint
	err := q.gorm(ctx).Raw(`select * from webhook_endpoints where tenant_id = ? and environment_id = ? and id = ? and deleted_at is null
		for update`, s.Tenant, s.Environment, id).Take(&e).Error
	return orNotFound(e, err)
}

// List lists the webhook endpoints that are not deleted.
func (q Endpoints) List(ctx context.Context, s Scope, p Page) ([]models.WebhookEndpoint, string, error) {
	tx, err := paginate(q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and deleted_at is null", s.Tenant, s.Environment),
		p, "created_at", "id")
	if err != nil {
		return nil, "", err
	}
	var rows []models.WebhookEndpoint
	if err := tx.Find(&rows).Error; err != nil {
		return nil, "", err
	}
	rows, next := cutPage(rows, p, func(e models.WebhookEndpoint) (time.Time, string) { return e.CreatedAt, e.ID })
	return rows, next, nil
}

// Update stores the URL, event types, description and choice of details of an endpoint.
func (q Endpoints) Update(ctx context.Context, e models.WebhookEndpoint) error {
	_, err := q.exec(ctx, `update webhook_endpoints set url = $2, events = $3, description = $4, updated_at = $5,
		include_details = $6 where id = $1`, e.ID, e.URL, e.Events, e.Description, e.UpdatedAt, e.IncludeDetails)
	return err
}

// Delete marks an endpoint as deleted, deletes its secrets and discards its pending deliveries. It returns false if there
// is none.
func (q Endpoints) Delete(ctx context.Context, s Scope, id string, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update webhook_endpoints set deleted_at = $4, updated_at = $4
		where tenant_id = $1 and environment_id = $2 and id = $3 and deleted_at is null`, s.Tenant, s.Environment, id, at)
	if err != nil || n == 0 {
		return false, err
	}
	if _, err := q.exec(ctx, "delete from webhook_secrets where endpoint_id = $1", id); err != nil {
		return false, err
	}
	return true, q.discardPending(ctx, s.Environment, id, at)
}

// Disable disables an enabled endpoint and discards its pending deliveries. It returns false if it was not enabled.
func (q Endpoints) Disable(ctx context.Context, e models.WebhookEndpoint, reason string, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update webhook_endpoints set status = 'disabled', disabled_reason = $2, disabled_at = $3, updated_at = $3,
		quiet_until = null where id = $1 and status = 'enabled' and deleted_at is null`, e.ID, reason, at)
	if err != nil || n == 0 {
		return false, err
	}
	return true, q.discardPending(ctx, e.EnvironmentID, e.ID, at)
}

// Enable enables a disabled endpoint and resets its failures. It returns false if it was not disabled.
func (q Endpoints) Enable(ctx context.Context, id string, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update webhook_endpoints set status = 'enabled', disabled_reason = null, disabled_at = null,
		failing_since = null, quiet_until = null, updated_at = $2 where id = $1 and status = 'disabled' and deleted_at is null`, id, at)
	return n > 0, err
}

func (q Endpoints) discardPending(ctx context.Context, environment, endpoint string, at time.Time) error {
	_, err := q.exec(ctx, `update webhook_deliveries set status = 'discarded', settled_at = $2
		where environment_id = $3 and endpoint_id = $1 and status = 'pending'`, endpoint, at, environment)
	return err
}

// Secrets returns the secrets of an endpoint that have not expired, newest first. Each signs every delivery.
func (q Endpoints) Secrets(ctx context.Context, endpoint string, now time.Time) ([]models.WebhookSecret, error) {
	var rows []models.WebhookSecret
	err := q.gorm(ctx).Where("endpoint_id = ? and (expires_at is null or expires_at > ?)", endpoint, now).
		Order("created_at desc, id desc").Find(&rows).Error
	return rows, err
}

// RotateSecret adds a secret and lets the other secrets expire at overlapEnds. It returns false and changes nothing while
// an earlier rotation still overlaps. The caller must have locked the endpoint.
func (q Endpoints) RotateSecret(ctx context.Context, n models.WebhookSecret, overlapEnds time.Time) (bool, error) {
	if _, err := q.exec(ctx, "delete from webhook_secrets where endpoint_id = $1 and expires_at <= $2", n.EndpointID, n.CreatedAt); err != nil {
		return false, err
	}
	var ending int64
	if err := q.gorm(ctx).Model(&models.WebhookSecret{}).Where("endpoint_id = ? and expires_at is not null", n.EndpointID).
		Count(&ending).Error; err != nil || ending > 0 {
		return false, err
	}
	if _, err := q.exec(ctx, "update webhook_secrets set expires_at = $2 where endpoint_id = $1", n.EndpointID, overlapEnds); err != nil {
		return false, err
	}
	return true, q.gorm(ctx).Create(&n).Error
}
