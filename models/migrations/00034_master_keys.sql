-- The master keys that sealed this database: their ids, as in the header of what they sealed, and a value derived from each
-- that cannot be turned back into the key. Every process compares its own keys with them before it writes or listens. A key
-- is recorded before it first seals, and retired once nothing that is sealed by it is needed.
-- +goose Up
create table master_keys (
    id          text        primary key,
    fingerprint bytea       not null,
    recorded_at timestamptz not null,
    retired_at  timestamptz
);

-- +goose Down
drop table master_keys;
