-- Subjects and what is known of them: sessions, frames, templates, passkeys, recoveries, research consent.
-- uid is ours and never leaves the service but in workflow payloads; external_id is the relying party's own string.
-- +goose Up
create table subjects (
    uid               text primary key,
    tenant_id         text        not null references tenants (id),
    environment_id    text        not null references environments (id),
    external_id       text        not null,
    status            text        not null check (status in ('active', 'revoked', 'erasing')),
    enrollment        text        not null check (enrollment in ('none', 'collecting', 'enrolled')),
    adaptation_frozen boolean     not null default false,
    research_consent  boolean     not null default false,
    claim_cap_until   timestamptz,
    created_at        timestamptz not null,
    updated_at        timestamptz not null,
    revoked_at        timestamptz,
    unique (environment_id, external_id)
);
create index subjects_list on subjects (environment_id, created_at desc, uid desc);

create table client_tokens (
    mac            bytea primary key,
    id             text        not null,
    tenant_id      text        not null,
    environment_id text        not null,
    credential_id  text        not null references credentials (id) on delete cascade,
    subject_uid    text        not null references subjects (uid) on delete cascade,
    origin         text        not null,
    created_at     timestamptz not null,
    expires_at     timestamptz not null,
    revoked_at     timestamptz
);
create index client_tokens_subject on client_tokens (subject_uid);
create index client_tokens_expiry on client_tokens (expires_at);

create table sessions (
    id               text primary key,
    tenant_id        text             not null,
    environment_id   text             not null,
    subject_uid      text             not null references subjects (uid) on delete cascade,
    device_class     text             not null check (device_class in ('desktop', 'mobile', 'tablet', 'unknown')),
    status           text             not null check (status in ('active', 'ended', 'expired')),
    legacy           boolean          not null default false,
    started_at       timestamptz      not null,
    ended_at         timestamptz,
    last_activity_at timestamptz      not null,
    last_evidence_at timestamptz,
    coverage         text             not null default 'none' check (coverage in ('none', 'sparse', 'partial', 'sufficient')),
    evidence_windows integer          not null default 0,
    active_seconds   double precision not null default 0,
    modalities       text[]           not null default '{}',
    enrollment_ready boolean          not null default false,
    trust_state      text             not null default 'LEARNING',
    state            bytea
);
create index sessions_subject on sessions (subject_uid, started_at desc, id desc);
create index sessions_list on sessions (environment_id, started_at desc, id desc);
create index sessions_idle on sessions (last_activity_at) where status = 'active';

create table frames (
    session_id     text             not null references sessions (id) on delete cascade,
    frame_id       text             not null,
    environment_id text             not null,
    subject_uid    text             not null references subjects (uid) on delete cascade,
    purpose        text             not null check (purpose in ('score', 'enroll')),
    status         text             not null check (status in ('accepted', 'neutral', 'rejected')),
    reason_codes   text[]           not null,
    received_at    timestamptz      not null,
    at             timestamptz      not null,
    duration_ms    double precision not null,
    digest         bytea            not null,
    vector         bytea,
    primary key (session_id, frame_id)
);
create index frames_digest on frames (environment_id, digest);
create index frames_subject on frames (subject_uid, received_at desc);
create index frames_age on frames (received_at);

create table templates (
    id             text primary key,
    tenant_id      text        not null,
    environment_id text        not null,
    subject_uid    text        not null references subjects (uid) on delete cascade,
    modality       text        not null,
    device_class   text        not null,
    version        integer     not null,
    status         text        not null check (status in ('active', 'superseded', 'retired')),
    model_version  text        not null,
    provisional    boolean     not null default false,
    limitations    text[]      not null default '{}',
    data           bytea       not null,
    created_at     timestamptz not null,
    updated_at     timestamptz not null,
    unique (subject_uid, modality, device_class, version)
);
create unique index templates_one_active on templates (subject_uid, modality, device_class) where status = 'active';

create table enrollments (
    id               text primary key,
    tenant_id        text        not null,
    environment_id   text        not null,
    subject_uid      text        not null references subjects (uid) on delete cascade,
    session_id       text        not null,
    anchor           text        not null check (anchor in ('none', 'customer_session', 'idp', 'passkey', 'verified_identity')),
    status           text        not null check (status in ('pending', 'completed', 'failed')),
    force            boolean     not null,
    windows_accepted integer     not null,
    limitations      text[]      not null default '{}',
    created_at       timestamptz not null,
    completed_at     timestamptz
);
create index enrollments_subject on enrollments (subject_uid, created_at desc);
create unique index enrollments_one_pending on enrollments (subject_uid) where status = 'pending';

create table passkeys (
    id               text primary key,
    tenant_id        text        not null,
    environment_id   text        not null,
    subject_uid      text        not null references subjects (uid) on delete cascade,
    credential_id    bytea       not null,
    public_key       bytea       not null,
    attestation_type text        not null,
    aaguid           bytea       not null,
    transports       text[]      not null,
    sign_count       bigint      not null,
    user_verified    boolean     not null,
    backup_eligible  boolean     not null,
    backup_state     boolean     not null,
    clone_warning    boolean     not null default false,
    created_at       timestamptz not null,
    last_used_at     timestamptz,
    revoked_at       timestamptz,
    unique (environment_id, credential_id)
);
create index passkeys_subject on passkeys (subject_uid) where revoked_at is null;

create table registration_grants (
    mac            bytea primary key,
    id             text        not null,
    tenant_id      text        not null,
    environment_id text        not null,
    subject_uid    text        not null references subjects (uid) on delete cascade,
    ceremony       jsonb,
    created_at     timestamptz not null,
    expires_at     timestamptz not null,
    used_at        timestamptz
);
create index registration_grants_subject on registration_grants (subject_uid);

create table recoveries (
    id                     text primary key,
    tenant_id              text        not null,
    environment_id         text        not null,
    subject_uid            text        not null references subjects (uid) on delete cascade,
    status                 text        not null check (status in ('pending', 'cooling_down', 'ready', 'completed', 'expired')),
    anchor                 text        not null check (anchor in ('none', 'customer_session', 'idp', 'passkey', 'verified_identity')),
    anchor_evidence_digest text,
    limitations            text[]      not null default '{}',
    created_at             timestamptz not null,
    ready_at               timestamptz not null,
    expires_at             timestamptz not null,
    completed_at           timestamptz
);
create unique index recoveries_one_open on recoveries (subject_uid) where status in ('pending', 'cooling_down', 'ready');
create index recoveries_subject on recoveries (subject_uid, created_at desc);

-- The consent ledger is append-only; the subject's row carries the present state.
create table research_consents (
    id             text primary key,
    environment_id text        not null,
    subject_uid    text        not null references subjects (uid) on delete cascade,
    consented      boolean     not null,
    recorded_at    timestamptz not null
);
create index research_consents_subject on research_consents (subject_uid, recorded_at desc);

create table research_vectors (
    id             text primary key,
    environment_id text        not null,
    pseudonym      bytea       not null,
    device_class   text        not null,
    vector         bytea       not null,
    created_at     timestamptz not null
);
create index research_vectors_pseudonym on research_vectors (environment_id, pseudonym);

-- What remains of an erased subject: that it was done, when, and how much was removed.
create table erasures (
    id             text primary key,
    tenant_id      text        not null,
    environment_id text        not null,
    status         text        not null check (status in ('erasing', 'completed')),
    requested_by   text        not null,
    requested_at   timestamptz not null,
    completed_at   timestamptz,
    removed        jsonb
);
create index erasures_environment on erasures (environment_id, requested_at desc);

-- +goose Down
drop table erasures, research_vectors, research_consents, recoveries, registration_grants, passkeys, enrollments,
    templates, frames, sessions, client_tokens, subjects;
