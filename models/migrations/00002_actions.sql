-- Protected actions and their immutable policy versions.
-- +goose Up
create table actions (
    id                    text primary key,
    tenant_id             text        not null references tenants (id),
    environment_id        text        not null references environments (id),
    key                   text        not null,
    name                  text        not null,
    consequence           text        not null,
    risk_class            text        not null check (risk_class in ('low', 'elevated', 'high', 'critical')),
    resource_type         text        not null,
    context_schema        jsonb       not null,
    mode                  text        not null check (mode in ('test', 'shadow', 'enforce')),
    allowed_audiences     text[]      not null,
    allowed_callers       text[]      not null,
    proof_ttl_seconds     integer     not null check (proof_ttl_seconds between 30 and 900),
    active_policy_version integer,
    created_at            timestamptz not null,
    updated_at            timestamptz not null,
    archived_at           timestamptz
);
create unique index actions_key on actions (environment_id, key) where archived_at is null;
create index actions_list on actions (environment_id, created_at desc, id desc);

create table policy_versions (
    id                text primary key,
    tenant_id         text        not null,
    environment_id    text        not null,
    action_id         text        not null references actions (id),
    version           integer     not null check (version > 0),
    status            text        not null check (status in ('draft', 'active', 'retired')),
    content_hash      text        not null,
    requirements      jsonb       not null,
    context_schema    jsonb       not null,
    allowed_audiences text[]      not null,
    allowed_callers   text[]      not null,
    proof_ttl_seconds integer     not null check (proof_ttl_seconds between 30 and 900),
    created_at        timestamptz not null,
    created_by        text        not null,
    activated_at      timestamptz,
    activated_by      text,
    retired_at        timestamptz,
    unique (action_id, version)
);
create unique index policy_versions_one_active on policy_versions (action_id) where status = 'active';

-- +goose Down
drop table policy_versions, actions;
