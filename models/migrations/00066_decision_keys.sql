-- The keys of decisions on a database whose decisions are divided by time (countersign migrate --partition): the nonce and the idempotency
-- key of a decision are unique for all time, and contain none. They are digests, the first 16 bytes of SHA-256. Before, the indexes of
-- authorizations enforce both, and decision_keys is empty. decision_division has a row once new decisions write their keys here, and is
-- complete once those of all decisions are here: every statement that writes or reads keys asks it.
-- +goose Up
create table decision_keys (
    environment_id   text  not null,
    nonce            bytea not null,
    idempotency_key  bytea,
    authorization_id text  not null,
    constraint decision_keys_idempotency unique (idempotency_key, environment_id),
    constraint decision_keys_nonce primary key (nonce, environment_id)
);
create table decision_division (
    single   boolean primary key default true check (single),
    complete boolean not null default false
);

-- +goose Down
drop table decision_division, decision_keys;
