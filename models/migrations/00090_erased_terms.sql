-- What a subject that is created anew under the id of an erased one takes over: the cool-down of its recovery and the cap on its claims. The
-- id is a keyed hash, and the row is deleted when both have ended.
-- +goose Up
create table erased_terms (
    environment_id  text        not null references environments (id),
    mac             bytea       not null,
    anchor          text,
    limitations     text[]      not null default '{}',
    ready_at        timestamptz,
    ends_at         timestamptz,
    claim_cap_until timestamptz,
    expires_at      timestamptz not null,
    primary key (environment_id, mac)
);

-- +goose Down
drop table erased_terms;
