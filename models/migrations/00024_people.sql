-- People of the console: who they are, what they may do in which environment, the passkeys they sign in with, the
-- invitations by which they come, and their sessions. A person belongs to one tenant; roles are held per environment.
-- +goose Up
create table people (
    id         text primary key,
    tenant_id  text        not null references tenants (id),
    name       text        not null,
    created_at timestamptz not null,
    created_by text        not null,
    joined_at  timestamptz,
    revoked_at timestamptz,
    revoked_by text
);
create index people_tenant on people (tenant_id, created_at desc, id desc);

create table person_roles (
    person_id      text        not null references people (id) on delete cascade,
    environment_id text        not null references environments (id),
    role           text        not null check (role in ('reviewer', 'operator', 'auditor')),
    granted_at     timestamptz not null,
    granted_by     text        not null,
    primary key (person_id, environment_id, role)
);
create index person_roles_environment on person_roles (environment_id);

-- A passkey is known to the console as a whole: the sign-in page does not ask who is there.
create table person_passkeys (
    id               text primary key,
    person_id        text        not null references people (id) on delete cascade,
    credential_id    bytea       not null unique,
    public_key       bytea       not null,
    attestation_type text        not null,
    aaguid           bytea       not null,
    transports       text[]      not null,
    sign_count       bigint      not null,
    backup_eligible  boolean     not null,
    backup_state     boolean     not null,
    clone_warning    boolean     not null default false,
    created_at       timestamptz not null,
    last_used_at     timestamptz
);
create index person_passkeys_person on person_passkeys (person_id);

-- Only the MAC of an invitation's token is kept; one passkey can be registered with it.
create table person_invitations (
    mac        bytea primary key,
    id         text        not null,
    person_id  text        not null references people (id) on delete cascade,
    ceremony   jsonb,
    created_at timestamptz not null,
    created_by text        not null,
    expires_at timestamptz not null,
    used_at    timestamptz
);
create index person_invitations_person on person_invitations (person_id);

-- Only the MAC of a session's cookie is kept. ceremony is what the passkey signed to open the session: that it is unique
-- makes every sign-in single use.
create table console_sessions (
    mac          bytea primary key,
    id           text        not null unique,
    person_id    text        not null references people (id) on delete cascade,
    ceremony     bytea       not null unique,
    created_at   timestamptz not null,
    confirmed_at timestamptz not null,
    last_seen_at timestamptz not null,
    expires_at   timestamptz not null,
    ended_at     timestamptz
);
create index console_sessions_person on console_sessions (person_id) where ended_at is null;
create index console_sessions_age on console_sessions (expires_at);

-- +goose Down
drop table console_sessions, person_invitations, person_passkeys, person_roles, people;
