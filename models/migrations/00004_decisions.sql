-- Authorizations and what follows from them: challenges, holds, proofs and the keys that sign them, evaluations.
-- +goose Up
create table signing_keys (
    kid            text primary key,
    tenant_id      text        not null,
    environment_id text        not null references environments (id),
    status         text        not null check (status in ('next', 'active', 'retiring', 'retired')),
    public_jwk     jsonb       not null,
    sealed         bytea       not null,
    created_at     timestamptz not null,
    activated_at   timestamptz,
    retiring_at    timestamptz,
    retired_at     timestamptz
);
create unique index signing_keys_one_active on signing_keys (environment_id) where status = 'active';
create unique index signing_keys_one_next on signing_keys (environment_id) where status = 'next';

create table authorizations (
    id                  text primary key,
    tenant_id           text        not null,
    environment_id      text        not null,
    credential_id       text        not null,
    action_id           text        not null,
    action_key          text        not null,
    subject_uid         text        not null,
    session_id          text,
    parent_id           text,
    actor               text        not null,
    resource_type       text        not null,
    resource_digest     text        not null,
    context_digest      text        not null,
    action_hash         text        not null,
    audience            text        not null,
    nonce               text        not null,
    idempotency_key     text,
    request_hash        bytea       not null,
    requested_at        timestamptz not null,
    decided_at          timestamptz not null,
    latency_ms          integer     not null,
    trace_id            text        not null,
    mode                text        not null check (mode in ('test', 'shadow', 'enforce')),
    decision            text        not null check (decision in ('allow', 'challenge', 'hold', 'deny')),
    reason_codes        text[]      not null,
    policy_version      integer     not null,
    policy_hash         text        not null,
    coverage            text        not null,
    insufficient        boolean     not null,
    operator_changed    boolean     not null default false,
    challenges_used     integer     not null default 0,
    challenge_completed text,
    hold_approved       boolean     not null default false,
    assurance           jsonb       not null,
    explanation         jsonb       not null,
    response            bytea       not null,
    outcome             text,
    outcome_reported_at timestamptz,
    outcome_note_digest text
);
-- A child shares its parent's nonce and has no idempotency key.
create unique index authorizations_idempotency on authorizations (environment_id, idempotency_key) where parent_id is null;
create unique index authorizations_nonce on authorizations (environment_id, nonce) where parent_id is null;
create unique index authorizations_child on authorizations (parent_id) where parent_id is not null;
create index authorizations_by_action on authorizations (environment_id, action_id, decided_at desc, id desc);
create index authorizations_subject on authorizations (subject_uid, decided_at desc);

create table challenges (
    id                     text primary key,
    tenant_id              text        not null,
    environment_id         text        not null,
    authorization_id       text        not null unique references authorizations (id) on delete cascade,
    subject_uid            text        not null,
    status                 text        not null check (status in ('open', 'completed', 'cancelled', 'expired', 'failed')),
    methods                text[]      not null,
    display                jsonb       not null,
    display_digest         text        not null,
    action_hash            text        not null,
    random                 bytea       not null,
    failures               integer     not null default 0,
    created_at             timestamptz not null,
    expires_at             timestamptz not null,
    settled_at             timestamptz,
    method_used            text,
    strength               text,
    completion_hash        bytea,
    child_authorization_id text
);
create index challenges_open on challenges (expires_at) where status = 'open';
create index challenges_subject on challenges (subject_uid, status);

-- A link opens one challenge in a browser; only the MAC of its ticket is kept.
create table challenge_links (
    mac          bytea primary key,
    challenge_id text        not null references challenges (id) on delete cascade,
    created_at   timestamptz not null,
    expires_at   timestamptz not null
);

create table holds (
    authorization_id       text primary key references authorizations (id) on delete cascade,
    tenant_id              text        not null,
    environment_id         text        not null,
    action_id              text        not null,
    subject_uid            text        not null,
    risk_class             text        not null,
    status                 text        not null check (status in ('pending', 'approved', 'rejected', 'expired')),
    approvals_required     integer     not null default 1 check (approvals_required between 1 and 5),
    opened_at              timestamptz not null,
    remind_at              timestamptz not null,
    reminded_at            timestamptz,
    due_at                 timestamptz not null,
    resolved_at            timestamptz,
    resolved_by            text,
    child_authorization_id text
);
create index holds_queue on holds (environment_id, status, due_at, authorization_id);
create index holds_subject on holds (subject_uid);

create table reviews (
    authorization_id text        not null references holds (authorization_id) on delete cascade,
    reviewer         text        not null,
    resolution       text        not null check (resolution in ('approve', 'reject')),
    note_digest      text,
    at               timestamptz not null,
    receipt          bytea,
    primary key (authorization_id, reviewer)
);

create table proofs (
    jti              text primary key,
    tenant_id        text        not null,
    environment_id   text        not null,
    authorization_id text        not null unique references authorizations (id) on delete cascade,
    subject_uid      text        not null,
    kid              text        not null,
    audience         text        not null,
    status           text        not null check (status in ('active', 'consumed', 'revoked')),
    compact          text,
    issued_at        timestamptz not null,
    expires_at       timestamptz not null,
    consumed_at      timestamptz,
    consumed_by      text,
    revoked_at       timestamptz,
    revoked_reason   text
);
create index proofs_open on proofs (subject_uid) where status = 'active';

create table evaluations (
    id               text primary key,
    tenant_id        text        not null,
    environment_id   text        not null,
    name             text        not null,
    action_keys      text[]      not null,
    action_ids       text[]      not null,
    success_criteria jsonb       not null,
    status           text        not null check (status in ('open', 'closed')),
    starts_at        timestamptz not null,
    ends_at          timestamptz,
    created_at       timestamptz not null,
    closed_at        timestamptz,
    report           jsonb
);
create index evaluations_list on evaluations (environment_id, created_at desc, id desc);

-- +goose Down
drop table evaluations, proofs, reviews, holds, challenge_links, challenges, authorizations, signing_keys;
