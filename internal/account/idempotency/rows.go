// Package idempotency stores the responses of requests that named an idempotency key. A key belongs to a credential.
package idempotency

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// Reserve inserts the row of a request that begins. It returns false if the key is taken. A request that began before
// abandoned and never finished is replaced.
func Reserve(ctx context.Context, q *pg.Q, k models.IdempotencyKey, abandoned time.Time) (bool, error) {
	n, err := q.Exec(ctx, `insert into idempotency_keys as k (credential_id, key, operation, request_hash, created_at, environment_id)
		values ($1, $2, $3, $4, $5, $7)
		on conflict on constraint idempotency_keys_pkey do update set operation = $3, request_hash = $4, created_at = $5
			where k.status is null and k.created_at < $6`,
		k.CredentialID, k.Key, k.Operation, k.RequestHash, k.CreatedAt, abandoned, k.EnvironmentID)
	return n == 1, err
}

// Finish stores the response to a reserved request. It does nothing if the reservation was replaced.
func Finish(ctx context.Context, q *pg.Q, k models.IdempotencyKey) error {
	_, err := q.Exec(ctx, `update idempotency_keys set status = $3, headers = $4, body = $5
		where environment_id = $7 and credential_id = $1 and key = $2 and status is null and created_at = $6`,
		k.CredentialID, k.Key, k.Status, k.Headers, k.Body, k.CreatedAt, k.EnvironmentID)
	return err
}

// Release deletes the reservation of a request that failed on our side, so that the caller can retry it.
func Release(ctx context.Context, q *pg.Q, k models.IdempotencyKey) error {
	_, err := q.Exec(ctx, `delete from idempotency_keys where environment_id = $4 and credential_id = $1 and key = $2 and status is null and created_at = $3`,
		k.CredentialID, k.Key, k.CreatedAt, k.EnvironmentID)
	return err
}

// Get returns the row of a key of a credential of the environment.
func Get(ctx context.Context, q *pg.Q, environment, credential, key string) (models.IdempotencyKey, error) {
	var k models.IdempotencyKey
	return pg.OrNotFound(k, q.Gorm(ctx).Where("environment_id = ? and credential_id = ? and key = ?", environment, credential, key).Take(&k).Error)
}

// Drop deletes the rows created before t.
func Drop(ctx context.Context, q *pg.Q, t time.Time) (int64, error) {
	return q.Exec(ctx, "delete from idempotency_keys where created_at < $1", t)
}
