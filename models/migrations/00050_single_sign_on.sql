-- Sign-in to the console with a tenant's OpenID Connect provider. A provider that was removed stays as a row without its secret,
-- because its people and the audit log refer to it. The groups of a person are not stored: they are evaluated at each sign-in.
-- +goose Up
create table identity_providers (
    id            text primary key,
    tenant_id     text        not null references tenants (id),
    name          text        not null,
    label         text        not null,
    issuer        text        not null,
    client_id     text        not null,
    client_secret bytea,
    scopes        text[]      not null,
    groups_claim  text        not null,
    grants        jsonb       not null,
    listed        boolean     not null,
    created_at    timestamptz not null,
    updated_at    timestamptz not null,
    removed_at    timestamptz
);
create unique index identity_providers_name on identity_providers (tenant_id, name) where removed_at is null;
create index identity_providers_listed on identity_providers (tenant_id) where listed and removed_at is null;

alter table people
    add column identity_provider_id text references identity_providers (id),
    add column provider_subject text;
create unique index people_provider on people (identity_provider_id, provider_subject) where identity_provider_id is not null;

alter table console_sessions
    add column identity_provider_id text,
    add column provider_session text;
create index console_sessions_provider on console_sessions (identity_provider_id, provider_session) where provider_session is not null;

-- The logout tokens that were accepted, so that none is accepted twice. A row is deleted once its token has expired.
create table provider_logouts (
    identity_provider_id text        not null references identity_providers (id) on delete cascade,
    token_digest         bytea       not null,
    expires_at           timestamptz not null,
    primary key (identity_provider_id, token_digest)
);
create index provider_logouts_age on provider_logouts (expires_at);

-- +goose Down
drop table provider_logouts;
alter table console_sessions drop column provider_session, drop column identity_provider_id;
alter table people drop column provider_subject, drop column identity_provider_id;
drop table identity_providers;
