-- Which relying party ids, further origins and authenticators the passkeys of an environment may have. One row for each environment that
-- has set any; apart from environments, whose rows are read with every decision.
-- +goose Up
create table environment_passkeys (
    environment_id    text   primary key references environments (id) on delete cascade,
    tenant_id         text   not null,
    rp_ids            text[] not null default '{}',
    related_origins   text[] not null default '{}',
    attestation       text   not null default 'none',
    attestation_roots text[] not null default '{}',
    aaguids           text[] not null default '{}'
);

-- The relying party id that a passkey is bound to; null for the environment's own.
alter table passkeys add column rp_id text;

-- +goose Down
alter table passkeys drop column rp_id;
drop table environment_passkeys;
