-- The unique keys of decisions, the distinguishing column first. With the environment first, a planner that knows nothing
-- of a young table's contents takes either index for either lookup, and walks all decisions of the environment.
-- +goose Up
create unique index authorizations_idempotency_2 on authorizations (idempotency_key, environment_id) where parent_id is null;
create unique index authorizations_nonce_2 on authorizations (nonce, environment_id) where parent_id is null;
drop index authorizations_idempotency, authorizations_nonce;
alter index authorizations_idempotency_2 rename to authorizations_idempotency;
alter index authorizations_nonce_2 rename to authorizations_nonce;

-- +goose Down
create unique index authorizations_idempotency_1 on authorizations (environment_id, idempotency_key) where parent_id is null;
create unique index authorizations_nonce_1 on authorizations (environment_id, nonce) where parent_id is null;
drop index authorizations_idempotency, authorizations_nonce;
alter index authorizations_idempotency_1 rename to authorizations_idempotency;
alter index authorizations_nonce_1 rename to authorizations_nonce;
