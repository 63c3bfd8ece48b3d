-- Tenants, their environments, and the credentials that speak for them.
-- +goose Up
create table tenants (
    id         text primary key,
    name       text        not null,
    created_at timestamptz not null
);

create table environments (
    id                    text primary key,
    tenant_id             text        not null references tenants (id),
    kind                  text        not null check (kind in ('sandbox', 'live')),
    rp_id                 text        not null,
    rp_name               text        not null,
    rp_origins            text[]      not null,
    challenge_ttl_seconds integer     not null default 300 check (challenge_ttl_seconds between 30 and 900),
    hold_ttl_seconds      integer     not null default 259200 check (hold_ttl_seconds between 60 and 2592000),
    research_enabled      boolean     not null default false,
    created_at            timestamptz not null
);
create index environments_tenant on environments (tenant_id);

create table credentials (
    id             text primary key,
    tenant_id      text        not null references tenants (id),
    environment_id text        not null references environments (id),
    scope          text        not null check (scope in ('client', 'server', 'admin')),
    name           text        not null,
    preview        text        not null,
    rate_limit     integer check (rate_limit > 0),
    created_at     timestamptz not null,
    created_by     text        not null,
    expires_at     timestamptz,
    last_used_at   timestamptz,
    revoked_at     timestamptz
);
create index credentials_environment on credentials (environment_id, created_at desc, id desc);

-- One row a key: a credential has two while a rotation overlaps. Only the MAC of a key is kept.
create table credential_keys (
    mac           bytea primary key,
    credential_id text        not null references credentials (id) on delete cascade,
    created_at    timestamptz not null,
    expires_at    timestamptz
);
create index credential_keys_credential on credential_keys (credential_id);

-- One fixed window a credential: what all replicas together have taken from the quota.
create table rate_windows (
    bucket       text        not null,
    window_start timestamptz not null,
    used         integer     not null,
    primary key (bucket, window_start)
);

-- Answers kept for the Idempotency-Key header. A row without a status is a request still running.
create table idempotency_keys (
    credential_id text        not null,
    key           text        not null,
    operation     text        not null,
    request_hash  bytea       not null,
    status        integer,
    headers       jsonb,
    body          bytea,
    created_at    timestamptz not null,
    primary key (credential_id, key)
);
create index idempotency_keys_age on idempotency_keys (created_at);

-- +goose Down
drop table idempotency_keys, rate_windows, credential_keys, credentials, environments, tenants;
