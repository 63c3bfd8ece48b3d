-- What the company's directory says of its staff.
-- +goose Up

-- Who manages a member of staff, and their department.
create table person_positions (
    person_id  text primary key references people(id) on delete cascade,
    tenant_id  text not null references tenants(id),
    manager_id text, -- a person of the tenant
    department text,
    changed_at timestamptz not null,
    row_mac    bytea
);
create index person_positions_manager on person_positions (manager_id) where (manager_id is not null);

-- A person whom the directory brings back is a new account with the same subject; the ended one stays ended.
create unique index people_provider_active on people (identity_provider_id, provider_subject) where (identity_provider_id is not null and revoked_at is null);
create index people_provider_subject on people (identity_provider_id, provider_subject) where (identity_provider_id is not null);
drop index people_provider;

-- The directory that provisions a tenant's staff by SCIM, and what it has sent.
create table directories (
    tenant_id            text primary key references tenants(id),
    identity_provider_id text references identity_providers(id), -- whose subjects are the external ids, and whose groups give roles
    grants               jsonb not null,                         -- without an identity provider
    required             boolean not null,                       -- only people of the directory sign in with the identity provider
    updated_at           timestamptz not null,
    row_mac              bytea
);

create table directory_tokens (
    id           text primary key,
    tenant_id    text not null references directories(tenant_id) on delete cascade,
    mac          bytea not null unique,
    created_at   timestamptz not null,
    created_by   text not null,
    expires_at   timestamptz, -- of one that was rotated
    last_used_at timestamptz,
    row_mac      bytea
);
create index directory_tokens_tenant on directory_tokens (tenant_id);

-- A deleted user keeps the identity, so that one who returns counts as the same person.
create table directory_users (
    id          text primary key,
    tenant_id   text not null references tenants(id),
    external_id text,
    user_name   text not null,
    attributes  jsonb not null,
    active      boolean not null,
    manager     text,    -- id of a user
    person_id   text references people(id) on delete cascade,
    linked      boolean not null, -- an administrator linked the user with the person
    revision    bigint not null,
    created_at  timestamptz not null,
    updated_at  timestamptz not null,
    deleted_at  timestamptz,
    row_mac     bytea
);
create unique index directory_users_name on directory_users (tenant_id, lower(user_name)) where (deleted_at is null);
create unique index directory_users_external on directory_users (tenant_id, external_id) where (deleted_at is null and external_id is not null);
create index directory_users_tenant on directory_users (tenant_id, created_at, id);
create index directory_users_person on directory_users (person_id) where (person_id is not null);
create index directory_users_manager on directory_users (tenant_id, manager) where (manager is not null);

create table directory_groups (
    id           text primary key,
    tenant_id    text not null references tenants(id),
    external_id  text,
    display_name text not null,
    revision     bigint not null,
    created_at   timestamptz not null,
    updated_at   timestamptz not null,
    row_mac      bytea
);
create unique index directory_groups_name on directory_groups (tenant_id, lower(display_name));
create unique index directory_groups_external on directory_groups (tenant_id, external_id) where (external_id is not null);
create index directory_groups_tenant on directory_groups (tenant_id, created_at, id);

create table directory_members (
    group_id  text not null references directory_groups(id) on delete cascade,
    user_id   text not null references directory_users(id) on delete cascade,
    tenant_id text not null references tenants(id),
    row_mac   bytea,
    primary key (group_id, user_id)
);
create index directory_members_user on directory_members (user_id);
