package store

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/models"
)

// Idempotency stores the responses to requests with an Idempotency-Key header.
type Idempotency struct{ *Q }

// Idempotency returns the queries of the aggregate.
func (q *Q) Idempotency() Idempotency { return Idempotency{q} }

// Reserve inserts the row of a request that begins. It returns false if the key is taken. A request that began before
// abandoned and never finished is replaced.
func (q Idempotency) Reserve(ctx context.Context, k models.IdempotencyKey, abandoned time.Time) (bool, error) {
	n, err := q.exec(ctx, `insert into idempotency_keys as k (credential_id, key, operation, request_hash, created_at, environment_id)
		values ($1, $2, $3, $4, $5, $7)
		on conflict on constraint idempotency_keys_pkey do update set operation = $3, request_hash = $4, created_at = $5
			where k.status is null and k.created_at < $6`,
		k.CredentialID, k.Key, k.Operation, k.RequestHash, k.CreatedAt, abandoned, k.EnvironmentID)
	return n == 1, err
}

// Finish stores the response to a reserved request. It does nothing if the reservation was replaced.
func (q Idempotency) Finish(ctx context.Context, k models.IdempotencyKey) error {
	_, err := q.exec(ctx, `update idempotency_keys set status = $3, headers = $4, body = $5
		where environment_id = $7 and credential_id = $1 and key = $2 and status is null and created_at = $6`,
		k.CredentialID, k.Key, k.Status, k.Headers, k.Body, k.CreatedAt, k.EnvironmentID)
	return err
}

// Release deletes the reservation of a request that failed on our side, so that the caller can retry it.
func (q Idempotency) Release(ctx context.Context, k models.IdempotencyKey) error {
	_, err := q.exec(ctx, `delete from idempotency_keys where environment_id = $4 and credential_id = $1 and key = $2 and status is null and created_at = $3`,
		k.CredentialID, k.Key, k.CreatedAt, k.EnvironmentID)
	return err
}

// Get returns the row of a key of a credential of the environment.
func (q Idempotency) Get(ctx context.Context, environment, credential, key string) (models.IdempotencyKey, error) {
	var k models.IdempotencyKey
	return orNotFound(k, q.gorm(ctx).Where("environment_id = ? and credential_id = ? and key = ?", environment, credential, key).Take(&k).Error)
}

// Drop deletes the rows created before t.
func (q Idempotency) Drop(ctx context.Context, t time.Time) (int64, error) {
	return q.exec(ctx, "delete from idempotency_keys where created_at < $1", t)
}
