-- The schema of version 1.0. Rows are text, numbers, times and JSON; bytes are MACs, hashes and sealed values. Databases of
-- builds before 1.0 have versions below 1000 and are refused. row_mac is a MAC over the columns of the row that decide what the
-- service allows (models/tables.go); the service refuses a row that does not match it.
-- +goose Up

-- Tenants, environments and what is set for them
-- ----------------------------------------------

-- One row a customer.
create table tenants (
    id         text primary key,
    name       text not null,
    created_at timestamptz not null
);

-- Tenants that were deleted. Nothing else of them is left.
create table deleted_tenants (
    id         text primary key,
    deleted_at timestamptz not null,
    deleted_by text not null
);

-- A sandbox and a live environment for each tenant, with the settings that every process reads. Times are in seconds.
create table environments (
    id                        text primary key,
    tenant_id                 text not null references tenants(id),
    kind                      text not null check (kind in ('sandbox', 'live')),
    rp_id                     text not null,
    rp_name                   text not null,
    rp_origins                text[] not null,
    challenge_ttl_seconds     integer default 300 not null check (challenge_ttl_seconds between 30 and 900),
    hold_ttl_seconds          integer default 259200 not null check (hold_ttl_seconds between 60 and 2592000),
    research_enabled          boolean default false not null,
    created_at                timestamptz not null,
    page_origin               text,
    return_origins            text[] default '{}' not null,
    frame_ancestors           text[] default '{}' not null,
    enrollment_grant_required boolean default false not null,
    bar_self_review           boolean default false not null,
    rate_limit_ceiling        integer check (rate_limit_ceiling > 0),
    second_approver_required  boolean default false not null,
    change_ttl_seconds        integer default 86400 not null check (change_ttl_seconds between 300 and 2592000),
    background                text default 'prior' not null check (background in ('prior', 'own', 'shared')),
    review_notes              boolean default true not null,
    case_link                 text default '' not null,
    federated_key_days        integer default 0 not null check (federated_key_days between 0 and 3650),
    rate_limit                integer check (rate_limit > 0),
    key_expiry_required       boolean default false not null,
    row_mac                   bytea
);
create index environments_tenant on environments (tenant_id);

-- How the hosted pages of an environment look.
create table environment_brands (
    environment_id text primary key references environments(id) on delete cascade,
    tenant_id      text not null,
    name           text default '' not null,
    accent         text default '' not null,
    language       text default '' not null,
    logo           bytea
);

-- Which passkeys an environment accepts: RP IDs, related origins, attestation, models of authenticators.
create table environment_passkeys (
    environment_id    text primary key references environments(id) on delete cascade,
    tenant_id         text not null,
    rp_ids            text[] default '{}' not null,
    related_origins   text[] default '{}' not null,
    attestation       text default 'none' not null,
    attestation_roots text[] default '{}' not null,
    aaguids           text[] default '{}' not null,
    row_mac           bytea
);

-- Each RP ID belongs to one tenant, which the operator names.
create table rp_ids (
    rp_id     text primary key,
    tenant_id text not null references tenants(id),
    row_mac   bytea
);
create index rp_ids_tenant on rp_ids (tenant_id);

-- Credentials, quotas and repeated requests
-- -----------------------------------------

-- Keys of programs. A principal is counted as one party: a person, a key made at the command line, or the issuer of the key.
create table credentials (
    id               text primary key,
    tenant_id        text not null references tenants(id),
    environment_id   text not null references environments(id),
    scope            text not null check (scope in ('client', 'server', 'admin')),
    name             text not null,
    preview          text not null,
    rate_limit       integer check (rate_limit > 0),
    created_at       timestamptz not null,
    created_by       text not null,
    expires_at       timestamptz,
    last_used_at     timestamptz,
    revoked_at       timestamptz,
    permissions      text[] check ((cardinality(permissions) > 0)),
    principal        text default '' not null,
    issuers          text[] default '{}' not null,
    former_principal text,
    lapses_at        timestamptz,
    ends_at          timestamptz generated always as (LEAST(expires_at, lapses_at)) stored,
    row_mac          bytea
);
create index credentials_environment on credentials (environment_id, created_at desc, id desc);
create index credentials_principal on credentials (principal);

-- The MACs of keys. A credential has two while a rotation overlaps.
create table credential_keys (
    mac           bytea primary key,
    credential_id text not null references credentials(id) on delete cascade,
    created_at    timestamptz not null,
    expires_at    timestamptz,
    row_mac       bytea
);
create index credential_keys_credential on credential_keys (credential_id);

-- When each quota is full again: requests move that time into the future.
create table quotas (
    bucket         text COLLATE pg_catalog."C" primary key,
    full_at        timestamptz not null,
    nearly_used_at timestamptz
);

-- What a check of readiness writes and deletes: a row fills a page, uncompressed.
create table write_probes (
    id   bigint generated always as identity primary key,
    page text not null
);
alter table write_probes alter column page set storage plain;

-- Responses stored for the Idempotency-Key header. A row without a status is a request that is still running.
create table idempotency_keys (
    credential_id  text not null,
    key            text not null,
    operation      text not null,
    request_hash   bytea not null,
    status         integer,
    headers        jsonb,
    body           bytea,
    created_at     timestamptz not null,
    environment_id text not null,
    primary key (credential_id, key, environment_id)
);
create index idempotency_keys_age on idempotency_keys (created_at);

-- Staff: people, their roles and sign-in, teams
-- ---------------------------------------------

-- OpenID Connect providers for sign-in to the console. Secrets are sealed.
create table identity_providers (
    id            text primary key,
    tenant_id     text not null references tenants(id),
    name          text not null,
    label         text not null,
    issuer        text not null,
    client_id     text not null,
    client_secret bytea,
    scopes        text[] not null,
    groups_claim  text not null,
    grants        jsonb not null,
    listed        boolean not null,
    created_at    timestamptz not null,
    updated_at    timestamptz not null,
    removed_at    timestamptz,
    row_mac       bytea
);
create index identity_providers_listed on identity_providers (tenant_id) where (listed and (removed_at is null));
create unique index identity_providers_name on identity_providers (tenant_id, name) where (removed_at is null);

-- Accounts of staff. A principal is set if the account is linked with another account of the same person.
create table people (
    id                   text primary key,
    tenant_id            text not null references tenants(id),
    name                 text not null,
    created_at           timestamptz not null,
    created_by           text not null,
    joined_at            timestamptz,
    revoked_at           timestamptz,
    revoked_by           text,
    identity_provider_id text references identity_providers(id),
    provider_subject     text,
    signed_in_at         timestamptz,
    confirmed_at         timestamptz,
    confirmed_by         text,
    shown_to             text[] default '{}' not null,
    mailed_by            text[] default '{}' not null,
    principal            text,
    row_mac              bytea
);
create index people_principal on people (tenant_id, principal) where (principal is not null);
create unique index people_provider on people (identity_provider_id, provider_subject) where (identity_provider_id is not null);
create index people_tenant on people (tenant_id, created_at desc, id desc);

-- What an account may do in an environment.
create table person_roles (
    person_id      text not null references people(id) on delete cascade,
    environment_id text not null references environments(id),
    role           text not null check (role in ('reviewer', 'operator', 'auditor')),
    granted_at     timestamptz not null,
    granted_by     text not null,
    row_mac        bytea,
    primary key (person_id, environment_id, role)
);
create index person_roles_environment on person_roles (environment_id);

-- Passkeys of staff.
create table person_passkeys (
    id               text primary key,
    person_id        text not null references people(id) on delete cascade,
    credential_id    bytea not null unique,
    public_key       bytea not null,
    attestation_type text not null,
    aaguid           bytea not null,
    transports       text[] not null,
    sign_count       bigint not null,
    backup_eligible  boolean not null,
    backup_state     boolean not null,
    clone_warning    boolean default false not null,
    created_at       timestamptz not null,
    last_used_at     timestamptz,
    row_mac          bytea
);
create index person_passkeys_person on person_passkeys (person_id);

-- Mail addresses of staff, sealed, with their confirmation and the hours in which no mail is sent (HH:MM in the zone).
create table person_addresses (
    person_id       text primary key references people(id) on delete cascade,
    tenant_id       text not null,
    address         bytea not null,
    code_mac        bytea,
    code_expires_at timestamptz,
    attempts        integer default 0 not null,
    changed_at      timestamptz not null,
    confirmed_at    timestamptz,
    named_by        text,
    gather_minutes  integer default 15 not null,
    quiet_from      text default '' not null,
    quiet_until     text default '' not null,
    zone            text default 'UTC' not null
);

-- Links to a first or another passkey. Only the MAC of a token is stored; there is none until a link that goes by mail is sent.
create table person_invitations (
    id         text primary key,
    mac        bytea unique,
    mailed     boolean default false not null,
    person_id  text not null references people(id) on delete cascade,
    ceremony   jsonb,
    created_at timestamptz not null,
    created_by text not null,
    expires_at timestamptz not null,
    used_at    timestamptz,
    row_mac    bytea
);
create index person_invitations_person on person_invitations (person_id);

-- Logout tokens of providers that were used.
create table provider_logouts (
    identity_provider_id text not null references identity_providers(id) on delete cascade,
    token_digest         bytea not null,
    expires_at           timestamptz not null,
    primary key (identity_provider_id, token_digest)
);
create index provider_logouts_age on provider_logouts (expires_at);

-- Sessions of the console. Only the MAC of a token is stored.
create table console_sessions (
    mac                  bytea primary key,
    id                   text not null unique,
    person_id            text not null references people(id) on delete cascade,
    ceremony             bytea not null unique,
    created_at           timestamptz not null,
    confirmed_at         timestamptz not null,
    last_seen_at         timestamptz not null,
    expires_at           timestamptz not null,
    ended_at             timestamptz,
    confirming           bytea,
    identity_provider_id text,
    provider_session     text,
    row_mac              bytea
);
create index console_sessions_age on console_sessions (expires_at);
create index console_sessions_person on console_sessions (person_id) where (ended_at is null);
create index console_sessions_provider on console_sessions (identity_provider_id, provider_session) where (provider_session is not null);

-- Filters of lists that staff saved under a name.
create table saved_filters (
    id             text primary key,
    tenant_id      text not null,
    environment_id text not null references environments(id) on delete cascade,
    person_id      text not null references people(id) on delete cascade,
    list           text not null check (list in ('reviews', 'decisions')),
    name           text not null,
    query          text not null,
    created_at     timestamptz not null,
    constraint saved_filters_person_id_environment_id_list_name_key unique (person_id, environment_id, list, name)
);

-- Teams of reviewers.
create table teams (
    id             text primary key,
    tenant_id      text not null references tenants(id),
    environment_id text not null references environments(id),
    key            text not null,
    name           text not null,
    created_at     timestamptz not null,
    created_by     text not null,
    row_mac        bytea,
    constraint teams_environment_id_key_key unique (environment_id, key)
);

-- Members of teams.
create table team_members (
    team_id        text not null references teams(id) on delete cascade,
    tenant_id      text not null,
    environment_id text not null,
    member         text not null,
    added_at       timestamptz not null,
    added_by       text not null,
    row_mac        bytea,
    primary key (team_id, member)
);
create index team_members_member on team_members (environment_id, member);

-- Who stands in for an absent reviewer, and when.
create table deputies (
    id             text primary key,
    tenant_id      text not null,
    environment_id text not null references environments(id),
    person_id      text not null references people(id) on delete cascade,
    deputy_id      text not null references people(id) on delete cascade,
    starts_at      timestamptz not null,
    ends_at        timestamptz not null,
    created_at     timestamptz not null,
    row_mac        bytea,
    constraint deputies_check check (ends_at >= starts_at)
);
create index deputies_deputy on deputies (environment_id, deputy_id);
create index deputies_person on deputies (environment_id, person_id);

-- Subjects, their sessions, evidence and templates
-- ------------------------------------------------

-- The people whom relying parties enrol. external_id is the relying party's id, uid the one of all other tables.
create table subjects (
    uid                 text not null,
    tenant_id           text not null references tenants(id),
    environment_id      text not null references environments(id),
    external_id         text not null,
    status              text not null check (status in ('active', 'revoked', 'erasing')),
    enrollment          text not null check (enrollment in ('none', 'collecting', 'enrolled')),
    adaptation_frozen   boolean default false not null,
    research_consent    boolean default false not null,
    claim_cap_until     timestamptz,
    created_at          timestamptz not null,
    updated_at          timestamptz not null,
    revoked_at          timestamptz,
    timing_template     bytea,
    enrollment_asked_at timestamptz,
    primary key (uid, environment_id),
    constraint subjects_environment_id_external_id_key unique (environment_id, external_id)
);
create index subjects_list on subjects (environment_id, created_at desc, uid desc);
create index subjects_prefix on subjects (environment_id, external_id text_pattern_ops);

-- Terms of a recovery that outlive the erasure of a subject, by a MAC of its id, until they end.
create table erased_terms (
    environment_id  text not null references environments(id),
    mac             bytea not null,
    anchor          text,
    limitations     text[] default '{}' not null,
    ready_at        timestamptz,
    ends_at         timestamptz,
    claim_cap_until timestamptz,
    expires_at      timestamptz not null,
    primary key (environment_id, mac)
);

-- Tokens of browsers, for one subject and one origin. Only the MAC of a token is stored.
create table client_tokens (
    mac            bytea not null,
    id             text not null,
    tenant_id      text not null,
    environment_id text not null,
    credential_id  text not null references credentials(id) on delete cascade,
    subject_uid    text not null,
    origin         text not null,
    created_at     timestamptz not null,
    expires_at     timestamptz not null,
    revoked_at     timestamptz,
    purposes       text[] default '{}' not null,
    session_id     text,
    row_mac        bytea,
    primary key (mac, environment_id),
    constraint client_tokens_subject_uid_fkey foreign key (subject_uid, environment_id) references subjects(uid, environment_id) on delete cascade
);
create index client_tokens_expiry on client_tokens (expires_at);
create index client_tokens_subject on client_tokens (subject_uid);

-- Passkeys of subjects.
create table passkeys (
    id               text not null,
    tenant_id        text not null,
    environment_id   text not null,
    subject_uid      text not null,
    credential_id    bytea not null,
    public_key       bytea not null,
    attestation_type text not null,
    aaguid           bytea not null,
    transports       text[] not null,
    sign_count       bigint not null,
    user_verified    boolean not null,
    backup_eligible  boolean not null,
    backup_state     boolean not null,
    clone_warning    boolean default false not null,
    created_at       timestamptz not null,
    last_used_at     timestamptz,
    revoked_at       timestamptz,
    rp_id            text,
    row_mac          bytea,
    primary key (id, environment_id),
    constraint passkeys_environment_id_credential_id_key unique (environment_id, credential_id),
    constraint passkeys_subject_uid_fkey foreign key (subject_uid, environment_id) references subjects(uid, environment_id) on delete cascade
);
create index passkeys_subject on passkeys (subject_uid, created_at desc, id desc);

-- Grants to register a passkey. Only the MAC of a token is stored.
create table registration_grants (
    mac            bytea not null,
    id             text not null,
    tenant_id      text not null,
    environment_id text not null,
    credential_id  text not null, -- that requested it, and with which it ends
    subject_uid    text not null,
    ceremony       jsonb,
    created_at     timestamptz not null,
    expires_at     timestamptz not null,
    used_at        timestamptz,
    row_mac        bytea,
    primary key (mac, environment_id),
    constraint registration_grants_subject_uid_fkey foreign key (subject_uid, environment_id) references subjects(uid, environment_id) on delete cascade
);
create index registration_grants_subject on registration_grants (subject_uid);

-- Observation sessions. state is the sealed running assessment.
create table sessions (
    id               text not null,
    tenant_id        text not null,
    environment_id   text not null,
    subject_uid      text not null,
    device_class     text not null check (device_class in ('desktop', 'mobile', 'tablet', 'unknown')),
    status           text not null check (status in ('active', 'ended', 'expired')),
    legacy           boolean default false not null,
    started_at       timestamptz not null,
    ended_at         timestamptz,
    last_activity_at timestamptz not null,
    last_evidence_at timestamptz,
    coverage         text default 'none' not null check (coverage in ('none', 'sparse', 'partial', 'sufficient')),
    evidence_windows integer default 0 not null,
    active_seconds   double precision default 0 not null,
    modalities       text[] default '{}' not null,
    enrollment_ready boolean default false not null,
    trust_state      text default 'LEARNING' not null,
    state            bytea,
    version          bigint default 0 not null,
    primary key (id, environment_id),
    constraint sessions_subject_uid_fkey foreign key (subject_uid, environment_id) references subjects(uid, environment_id) on delete cascade
) WITH (fillfactor='50');
create index sessions_active on sessions (started_at) where (status = 'active');
create index sessions_list on sessions (environment_id, started_at desc, id desc);
create index sessions_over on sessions (started_at) where (status <> 'active');
create index sessions_subject on sessions (subject_uid, started_at desc, id desc);
ALTER table only sessions ALTER COLUMN state SET STORAGE EXTERNAL;

-- Evidence as received: derived features, sealed.
create table frames (
    session_id     text not null,
    frame_id       text not null,
    environment_id text not null,
    subject_uid    text not null,
    purpose        text not null check (purpose in ('score', 'enroll')),
    status         text not null check (status in ('accepted', 'neutral', 'rejected')),
    reason_codes   text[] not null,
    received_at    timestamptz not null,
    at             timestamptz not null,
    duration_ms    double precision not null,
    digest         bytea not null,
    vector         bytea,
    keys           integer,
    primary key (session_id, frame_id, environment_id),
    constraint frames_session_id_fkey foreign key (session_id, environment_id) references sessions(id, environment_id) on delete cascade,
    constraint frames_subject_uid_fkey foreign key (subject_uid, environment_id) references subjects(uid, environment_id) on delete cascade
);
create index frames_age on frames (received_at);
create index frames_digest on frames (environment_id, digest);
create index frames_subject on frames (subject_uid, received_at desc);

-- Digests of frames, stored longer than the frames, against replays.
create table frame_digests (
    environment_id text not null,
    digest         bytea not null,
    subject_uid    text not null,
    session_id     text not null,
    seen_at        timestamptz not null,
    primary key (environment_id, digest),
    constraint frame_digests_subject_uid_fkey foreign key (subject_uid, environment_id) references subjects(uid, environment_id) on delete cascade
);
create index frame_digests_age on frame_digests using brin (seen_at);
create index frame_digests_subject on frame_digests (subject_uid);

-- Passages of recent frames, sealed, with which new frames are compared against replays.
create table typed_passages (
    environment_id text not null,
    subject_uid    text not null,
    device_class   text not null,
    block          integer not null,
    passages       bytea not null,
    updated_at     timestamptz not null,
    version        bigint default 0 not null,
    primary key (environment_id, subject_uid, device_class, block),
    constraint typed_passages_subject_uid_fkey foreign key (subject_uid, environment_id) references subjects(uid, environment_id) on delete cascade
) WITH (fillfactor='70');
ALTER table only typed_passages ALTER COLUMN passages SET STORAGE EXTERNAL;

-- Versions of the templates of subjects, sealed.
create table templates (
    id             text not null,
    tenant_id      text not null,
    environment_id text not null,
    subject_uid    text not null,
    modality       text not null,
    device_class   text not null,
    version        integer not null,
    status         text not null check (status in ('active', 'superseded', 'retired')),
    model_version  text not null,
    provisional    boolean default false not null,
    limitations    text[] default '{}' not null,
    data           bytea not null,
    created_at     timestamptz not null,
    updated_at     timestamptz not null,
    origin         text default 'enrollment' not null check (origin in ('enrollment', 'adaptation', 'retraining')),
    origin_ref     text default '' not null,
    primary key (id, environment_id),
    constraint templates_subject_uid_fkey foreign key (subject_uid, environment_id) references subjects(uid, environment_id) on delete cascade,
    constraint templates_subject_uid_modality_device_class_version_key unique (subject_uid, modality, device_class, version, environment_id)
);
create unique index templates_adapted_once on templates (origin_ref, modality, device_class, environment_id) where (origin = 'adaptation');
create index templates_age on templates (updated_at) where (status <> 'active');
create index templates_by_environment on templates (environment_id, modality, model_version) where (status = 'active');
create index templates_by_model on templates (model_version, id) where (status = 'active');
create index templates_list on templates (subject_uid, created_at, id);
create unique index templates_one_active on templates (subject_uid, modality, device_class, environment_id) where (status = 'active');
ALTER table only templates ALTER COLUMN data SET STORAGE EXTERNAL;

-- Attempts to train a template.
create table enrollments (
    id               text not null,
    tenant_id        text not null,
    environment_id   text not null,
    subject_uid      text not null,
    session_id       text not null,
    anchor           text not null check (anchor in ('none', 'customer_session', 'idp', 'passkey', 'verified_identity')),
    status           text not null check (status in ('pending', 'completed', 'failed')),
    force            boolean not null,
    windows_accepted integer not null,
    limitations      text[] default '{}' not null,
    created_at       timestamptz not null,
    completed_at     timestamptz,
    refused_sessions text[] default '{}' not null,
    primary key (id, environment_id),
    constraint enrollments_subject_uid_fkey foreign key (subject_uid, environment_id) references subjects(uid, environment_id) on delete cascade
);
create unique index enrollments_one_pending on enrollments (subject_uid, environment_id) where (status = 'pending');
create index enrollments_subject on enrollments (subject_uid, created_at desc);
create index enrollments_unfinished on enrollments (created_at) where (status = 'pending');

-- Recoveries of subjects, with their cool-down.
create table recoveries (
    id                     text not null,
    tenant_id              text not null,
    environment_id         text not null,
    subject_uid            text not null,
    status                 text not null check (status in ('pending', 'cooling_down', 'ready', 'completed', 'expired')),
    anchor                 text not null check (anchor in ('none', 'customer_session', 'idp', 'passkey', 'verified_identity')),
    anchor_evidence_digest text,
    reference              text default '' not null,
    limitations            text[] default '{}' not null,
    created_at             timestamptz not null,
    ready_at               timestamptz not null,
    expires_at             timestamptz not null,
    completed_at           timestamptz,
    primary key (id, environment_id),
    constraint recoveries_subject_uid_fkey foreign key (subject_uid, environment_id) references subjects(uid, environment_id) on delete cascade
);
create unique index recoveries_one_open on recoveries (subject_uid, environment_id) where (status in ('pending', 'cooling_down', 'ready'));
create index recoveries_open on recoveries (ready_at) where (status in ('pending', 'cooling_down', 'ready'));
create index recoveries_subject on recoveries (subject_uid, created_at desc);

-- Receipts of erasures.
create table erasures (
    id             text not null,
    tenant_id      text not null,
    environment_id text not null,
    status         text not null check (status in ('erasing', 'completed')),
    requested_by   text not null,
    requested_at   timestamptz not null,
    completed_at   timestamptz,
    removed        jsonb,
    subject_uid    text,
    subject        text,
    primary key (id, environment_id)
);
create index erasures_environment on erasures (environment_id, requested_at desc);
create unique index erasures_running on erasures (subject_uid, environment_id) where (subject_uid is not null);
create index erasures_unfinished on erasures (requested_at) where (status = 'erasing');

-- Research, with consent
-- ----------------------

-- The ledger of consents and withdrawals.
create table research_consents (
    id             text not null,
    environment_id text not null,
    subject_uid    text not null,
    consented      boolean not null,
    recorded_at    timestamptz not null,
    primary key (id, environment_id),
    constraint research_consents_subject_uid_fkey foreign key (subject_uid, environment_id) references subjects(uid, environment_id) on delete cascade
);
create index research_consents_subject on research_consents (subject_uid, recorded_at desc);

-- Periods in which vectors were collected.
create table research_periods (
    id             text primary key,
    environment_id text not null references environments(id),
    salt           bytea,
    started_at     timestamptz not null,
    ended_at       timestamptz,
    constraint research_periods_check check (((salt is null) = (ended_at is not null)))
);
create unique index research_periods_current on research_periods (environment_id) where (ended_at is null);

-- Pseudonyms of subjects in a period.
create table research_links (
    environment_id text not null,
    holder         bytea not null,
    period_id      text not null references research_periods(id) on delete cascade,
    pseudonym      bytea not null,
    primary key (environment_id, holder, period_id)
);

-- Vectors retained with consent, without a subject.
create table research_vectors (
    id             text not null,
    environment_id text not null,
    pseudonym      bytea not null,
    device_class   text not null,
    vector         bytea not null,
    created_at     timestamptz not null,
    period_id      text,
    primary key (id, environment_id)
);
create index research_vectors_age on research_vectors (created_at);
create index research_vectors_learning on research_vectors (pseudonym, id);
create index research_vectors_period on research_vectors (period_id);
create index research_vectors_pseudonym on research_vectors (environment_id, pseudonym);

-- What the scorer compares people with
-- ------------------------------------

-- Models of other people's typing and pointing that a deployment learned.
create table backgrounds (
    version      text primary key,
    modality     text not null check (modality in ('keystroke', 'pointer')),
    status       text not null check (status in ('active', 'retired')),
    body         bytea not null,
    digest       text not null,
    comparison   jsonb not null,
    activated_by text not null,
    activated_at timestamptz not null,
    retired_at   timestamptz
);
create unique index backgrounds_one_active on backgrounds (modality) where (status = 'active');

-- What environments contribute to a shared background.
create table background_shares (
    subject_uid    text not null,
    modality       text not null check (modality in ('keystroke', 'pointer')),
    environment_id text not null references environments(id),
    tenant_id      text not null references tenants(id),
    digest         bytea,
    counted_at     timestamptz not null,
    primary key (subject_uid, modality, environment_id),
    constraint background_shares_subject_uid_fkey foreign key (subject_uid, environment_id) references subjects(uid, environment_id)
);
create index background_shares_by_environment on background_shares (environment_id, modality);

-- Sufficient statistics of an environment's own people.
create table background_sums (
    environment_id text not null references environments(id),
    tenant_id      text not null references tenants(id),
    modality       text not null check (modality in ('keystroke', 'pointer')),
    people         integer not null check (people >= 0),
    changes        bigint not null,
    sums           bytea not null,
    updated_at     timestamptz not null,
    primary key (environment_id, modality)
);

-- Which background an environment uses, and its candidates.
create table environment_backgrounds (
    version        text primary key,
    environment_id text not null references environments(id),
    tenant_id      text not null references tenants(id),
    modality       text not null check (modality in ('keystroke', 'pointer')),
    number         integer not null,
    status         text not null check (status in ('candidate', 'active', 'retired', 'refused')),
    source         text not null check (source in ('own', 'shared')),
    people         integer not null,
    changes        bigint not null,
    body           bytea not null,
    comparison     jsonb not null,
    made_at        timestamptz not null,
    activated_at   timestamptz,
    retired_at     timestamptz,
    constraint environment_backgrounds_environment_id_modality_number_key unique (environment_id, modality, number)
);
create unique index environment_backgrounds_one_active on environment_backgrounds (environment_id, modality) where (status = 'active');

-- Actions and policies
-- --------------------

-- Protected actions.
create table actions (
    id                    text primary key,
    tenant_id             text not null references tenants(id),
    environment_id        text not null references environments(id),
    key                   text not null,
    name                  text not null,
    consequence           text not null,
    risk_class            text not null check (risk_class in ('low', 'elevated', 'high', 'critical')),
    resource_type         text not null,
    context_schema        jsonb not null,
    mode                  text not null check (mode in ('test', 'shadow', 'enforce')),
    allowed_audiences     text[] not null,
    allowed_callers       text[] not null,
    proof_ttl_seconds     integer not null check (proof_ttl_seconds between 30 and 900),
    active_policy_version integer,
    created_at            timestamptz not null,
    updated_at            timestamptz not null,
    archived_at           timestamptz,
    row_mac               bytea
);
create unique index actions_key on actions (environment_id, key) where (archived_at is null);
create index actions_list on actions (environment_id, created_at desc, id desc);

-- Immutable policy versions of actions.
create table policy_versions (
    id                text primary key,
    tenant_id         text not null,
    environment_id    text not null,
    action_id         text not null references actions(id),
    version           integer not null check (version > 0),
    status            text not null check (status in ('draft', 'active', 'retired')),
    content_hash      text not null,
    requirements      jsonb not null,
    context_schema    jsonb not null,
    allowed_audiences text[] not null,
    allowed_callers   text[] not null,
    proof_ttl_seconds integer not null check (proof_ttl_seconds between 30 and 900),
    created_at        timestamptz not null,
    created_by        text not null,
    reason            text default '' not null, -- why it was made
    activated_at      timestamptz,
    activated_by      text,
    retired_at        timestamptz,
    lists             text[] default '{}' not null, -- names of the lists that its rules read
    row_mac           bytea,
    constraint policy_versions_action_id_version_key unique (action_id, version)
);
create index policy_versions_environment on policy_versions (environment_id);
create unique index policy_versions_one_active on policy_versions (action_id) where (status = 'active');

-- Named lists that rules read. entries is their number, and entries_sum the sum of their digests, which audit verify compares. secret, sealed, is
-- the key of the digests of a personal list.
create table lists (
    id             text not null,
    tenant_id      text not null references tenants(id),
    environment_id text not null references environments(id),
    name           text not null,
    kind           text not null check (kind in ('text', 'country', 'iban_prefix')),
    personal       boolean not null,
    description    text not null,
    secret         bytea,
    version        integer not null check (version > 0),
    entries        integer not null,
    entries_sum    bytea not null,
    created_at     timestamptz not null,
    created_by     text not null,
    row_mac        bytea,
    primary key (id, environment_id),
    constraint lists_environment_id_name_key unique (environment_id, name),
    constraint lists_personal check (personal = (secret is not null) and (not personal or kind = 'text'))
);

-- Entries of lists. key is the normal form of the value, or its digest in a personal list, which has no value. salt is random: without it no one
-- can guess from the log which entry was removed.
create table list_entries (
    id             text not null,
    tenant_id      text not null,
    environment_id text not null,
    list_id        text not null,
    key            text not null,
    value          text,
    reason         text not null,
    expires_at     timestamptz,
    added_at       timestamptz not null,
    added_by       text not null,
    salt           bytea not null,
    row_mac        bytea,
    primary key (id, environment_id),
    unique (list_id, environment_id, key),
    constraint list_entries_list_id_fkey foreign key (list_id, environment_id) references lists(id, environment_id) on delete cascade
);
create index list_entries_page on list_entries (environment_id, list_id, added_at desc, id desc);
create index list_entries_expired on list_entries (expires_at) where (expires_at is not null);

-- Changes that wait for a second approver.
create table changes (
    id             text not null,
    tenant_id      text not null references tenants(id),
    environment_id text not null references environments(id),
    kind           text not null check (kind in ('policy.activate', 'action.mode', 'environment.settings', 'team.create', 'team.update', 'team.delete', 'webhook.create', 'webhook.update', 'list.entries', 'list.delete')),
    status         text not null check (status in ('pending', 'approved', 'rejected', 'withdrawn', 'superseded', 'expired')),
    target         text not null,
    action         text default '' not null,
    proposed       jsonb not null,
    base           jsonb not null,
    differences    jsonb not null,
    digest         bytea not null,
    proposed_by    text not null,
    principal      text not null,
    created_at     timestamptz not null,
    expires_at     timestamptz not null,
    resolved_at    timestamptz,
    resolved_by    text,
    reason         text default '' not null, -- the requester's
    resolved_for   text default '' not null, -- the reason of who settled it
    primary key (id, environment_id)
);
create index changes_due on changes (expires_at) where (status = 'pending');
create index changes_list on changes (environment_id, created_at desc, id desc);
create unique index changes_pending on changes (environment_id, digest) where (status = 'pending');

-- Decisions and what follows from them
-- ------------------------------------

-- Decisions: one row each, a follow-up decision with its parent. response has the fields of what was
-- returned that no other column has. Documents are stored as written, because the log has a digest of them.
create table authorizations (
    id                  text not null,
    tenant_id           text not null,
    environment_id      text not null,
    credential_id       text not null,
    action_id           text not null,
    action_key          text not null,
    subject_uid         text not null,
    session_id          text,
    parent_id           text,
    actor               text not null,
    resource_type       text not null,
    resource_digest     text not null,
    context_digest      text not null,
    action_hash         text not null,
    audience            text not null,
    nonce               text not null,
    idempotency_key     text,
    request_hash        text not null,
    requested_at        timestamptz not null,
    decided_at          timestamptz not null,
    latency_ms          integer not null,
    trace_id            text not null,
    mode                text not null check (mode in ('test', 'shadow', 'enforce')),
    decision            text not null check (decision in ('allow', 'challenge', 'hold', 'deny')),
    reason_codes        text[] not null,
    policy_version      integer not null,
    policy_hash         text not null,
    coverage            text not null,
    insufficient        boolean not null,
    operator_changed    boolean default false not null,
    challenges_used     integer default 0 not null,
    challenge_completed text,
    hold_approved       boolean default false not null,
    assurance           json not null,
    explanation         json not null,
    response            json not null,
    outcome             text,
    outcome_reported_at timestamptz,
    outcome_note_digest text,
    session_pinned      boolean default false not null,
    primary key (id, environment_id)
) with (toast_tuple_target = 2600); -- most rows, once compressed, stay in one place
create index authorizations_action_time on authorizations (environment_id, action_id, decided_at, id);
create index authorizations_age on authorizations using brin (decided_at);
create unique index authorizations_child on authorizations (parent_id, environment_id) where (parent_id is not null);
create index authorizations_counts on authorizations (environment_id, subject_uid, action_key, decision, decided_at);
create unique index authorizations_idempotency on authorizations (idempotency_key, environment_id) where (parent_id is null);
create unique index authorizations_nonce on authorizations (nonce, environment_id) where (parent_id is null);
create index authorizations_seldom on authorizations (environment_id, action_id, mode, decision, decided_at, id) where (mode <> 'enforce');
create index authorizations_subject on authorizations (subject_uid, decided_at desc);

-- Proofs of Agency. compact is sealed.
create table proofs (
    jti              text not null,
    tenant_id        text not null,
    environment_id   text not null,
    authorization_id text not null,
    subject_uid      text not null,
    kid              text not null,
    audience         text not null,
    status           text not null check (status in ('active', 'consumed', 'revoked')),
    issued_at        timestamptz not null,
    expires_at       timestamptz not null,
    consumed_at      timestamptz,
    consumed_by      text,
    revoked_at       timestamptz,
    revoked_reason   text,
    sealed           bytea not null,
    primary key (jti, environment_id),
    constraint proofs_authorization_id_fkey foreign key (authorization_id, environment_id) references authorizations(id, environment_id) on delete cascade,
    constraint proofs_authorization_id_key unique (authorization_id, environment_id)
);
ALTER table only proofs ALTER COLUMN sealed SET STORAGE EXTERNAL;

-- Details that a person was shown, sealed.
create table shown_details (
    authorization_id text not null,
    tenant_id        text not null,
    environment_id   text not null,
    subject_uid      text not null,
    details          bytea not null,
    decided_at       timestamptz not null,
    primary key (authorization_id, environment_id),
    constraint shown_details_authorization_id_fkey foreign key (authorization_id, environment_id) references authorizations(id, environment_id) on delete cascade
);
create index shown_details_age on shown_details using brin (decided_at);
create index shown_details_subject on shown_details (subject_uid);

-- Values of contexts that simulations need, sealed.
create table kept_values (
    authorization_id text not null,
    tenant_id        text not null,
    environment_id   text not null,
    subject_uid      text not null,
    kept             bytea not null,
    decided_at       timestamptz not null,
    primary key (authorization_id, environment_id),
    constraint kept_values_authorization_id_fkey foreign key (authorization_id, environment_id) references authorizations(id, environment_id) on delete cascade
);
create index kept_values_age on kept_values using brin (decided_at);
create index kept_values_subject on kept_values (subject_uid);

-- Amounts and digests of values of requests, by which rules count. A row is a request with one of the decisions about it: request_id
-- is the first decision, and first marks its row. The digest of the resource is stored if a rule of the action counts by it. What is distinct is the MAC of a value. reserved says whether the latest decision in
-- mode enforce counts towards a cap: final (it was allowed), open (it is challenged or held), executed (it was reported as executed
-- although it was not allowed), released (given back or denied); no for every other row.
create table aggregate_values (
    request_id      text not null,
    tenant_id       text not null,
    environment_id  text not null,
    subject_uid     text not null,
    resource_digest text,
    field           text not null,
    action_key      text not null,
    decision        text not null check (decision in ('allow', 'challenge', 'hold', 'deny')),
    first           boolean not null,
    currency        text default '' not null,
    amount          numeric,
    digest          bytea,
    decided_at      timestamptz not null,
    reserved        text not null check (reserved in ('no', 'open', 'final', 'executed', 'released')),
    reserved_at     timestamptz not null,
    primary key (request_id, field, decision, environment_id),
    constraint aggregate_values_request_id_fkey foreign key (request_id, environment_id) references authorizations(id, environment_id) on delete cascade
);
create index aggregate_values_age on aggregate_values using brin (reserved_at);
create index aggregate_values_subject on aggregate_values (environment_id, subject_uid, field, action_key, decision, currency, decided_at)
    include (amount, digest, first, reserved);
create index aggregate_values_resource on aggregate_values (environment_id, resource_digest, field, action_key, decision, currency, decided_at)
    include (tenant_id, amount, digest, first, reserved) where (resource_digest is not null);
create index aggregate_values_subject_open on aggregate_values (environment_id, subject_uid, field) where (reserved in ('open', 'executed'));
create index aggregate_values_resource_open on aggregate_values (environment_id, resource_digest, field) where (reserved in ('open', 'executed') and resource_digest is not null);
create index aggregate_values_seen on aggregate_values (environment_id, subject_uid, digest, decided_at) where (digest is not null and decision = 'allow');

-- One row for each subject, or resource, and field under a cap: decisions that reserve lock it.
create table aggregate_locks (
    tenant_id       text not null,
    environment_id  text not null,
    subject_uid     text not null,
    resource_digest text not null,
    field           text not null,
    locked_at       timestamptz not null,
    primary key (environment_id, subject_uid, resource_digest, field)
);
create index aggregate_locks_age on aggregate_locks (locked_at);

-- Challenges of decisions.
create table challenges (
    id                     text not null,
    tenant_id              text not null,
    environment_id         text not null,
    authorization_id       text not null,
    subject_uid            text not null,
    status                 text not null check (status in ('open', 'completed', 'cancelled', 'expired', 'failed')),
    methods                text[] not null,
    display                json not null,
    display_digest         text not null,
    action_hash            text not null,
    random                 bytea not null,
    failures               integer default 0 not null,
    created_at             timestamptz not null,
    expires_at             timestamptz not null,
    settled_at             timestamptz,
    method_used            text,
    strength               text,
    completion_hash        bytea,
    child_authorization_id text,
    primary key (id, environment_id),
    constraint challenges_authorization_id_fkey foreign key (authorization_id, environment_id) references authorizations(id, environment_id) on delete cascade,
    constraint challenges_authorization_id_key unique (authorization_id, environment_id)
);
create index challenges_open on challenges (expires_at) where (status = 'open');
create index challenges_subject on challenges (subject_uid, status);

-- Links to hosted challenge pages. Only the MAC of a ticket is stored.
create table challenge_links (
    mac            bytea not null,
    challenge_id   text not null,
    created_at     timestamptz not null,
    expires_at     timestamptz not null,
    return_url     text,
    environment_id text not null,
    credential_id  text not null, -- that requested it, and with which it ends
    primary key (mac, environment_id),
    constraint challenge_links_challenge_id_fkey foreign key (challenge_id, environment_id) references challenges(id, environment_id) on delete cascade
);
create index challenges_links on challenge_links (challenge_id);

-- Holds of decisions, which reviewers resolve.
create table holds (
    authorization_id       text not null,
    tenant_id              text not null,
    environment_id         text not null,
    action_id              text not null,
    subject_uid            text not null,
    risk_class             text not null,
    status                 text not null check (status in ('pending', 'approved', 'rejected', 'expired')),
    approvals_required     integer default 1 not null check (approvals_required between 1 and 5),
    opened_at              timestamptz not null,
    remind_at              timestamptz not null,
    reminded_at            timestamptz,
    due_at                 timestamptz not null,
    resolved_at            timestamptz,
    resolved_by            text,
    child_authorization_id text,
    self_review_barred     boolean default false not null,
    assigned_to            text,
    assigned_at            timestamptz,
    teams_required         integer default 0 not null, -- rows in hold_teams
    row_mac                bytea,
    primary key (authorization_id, environment_id),
    constraint holds_authorization_id_fkey foreign key (authorization_id, environment_id) references authorizations(id, environment_id) on delete cascade
);
create index holds_newest on holds (environment_id, status, opened_at desc, authorization_id desc);
create index holds_queue on holds (environment_id, status, due_at, authorization_id);
create index holds_subject on holds (subject_uid);

-- Teams whose approvals a hold needs.
create table hold_teams (
    authorization_id text not null,
    tenant_id        text not null,
    environment_id   text not null,
    team             text not null,
    approvals        integer not null check (approvals between 1 and 5),
    escalate_team    text,
    escalate_at      timestamptz,
    escalated_at     timestamptz,
    row_mac          bytea,
    primary key (authorization_id, team, environment_id),
    constraint hold_teams_authorization_id_fkey foreign key (authorization_id, environment_id) references holds(authorization_id, environment_id) on delete cascade
);
create index hold_teams_team on hold_teams (environment_id, team);

-- Who looks at a hold now.
create table hold_viewers (
    authorization_id text not null,
    viewer           text not null,
    opened_at        timestamptz not null,
    seen_at          timestamptz not null,
    environment_id   text not null,
    primary key (authorization_id, viewer, environment_id),
    constraint hold_viewers_authorization_id_fkey foreign key (authorization_id, environment_id) references holds(authorization_id, environment_id) on delete cascade
);
create index hold_viewers_age on hold_viewers (seen_at);

-- What reviewers said of holds.
create table reviews (
    authorization_id text not null,
    reviewer         text not null,
    resolution       text not null check (resolution in ('approve', 'reject')),
    note_digest      text,
    at               timestamptz not null,
    receipt          text,
    principal        text not null,
    environment_id   text not null,
    row_mac          bytea,
    primary key (authorization_id, reviewer, environment_id),
    constraint reviews_authorization_id_fkey foreign key (authorization_id, environment_id) references holds(authorization_id, environment_id) on delete cascade
);

-- Reviews that people have given in the console, until the time to undo them has passed and they are made. A remark stays until it is read.
create table given_reviews (
    authorization_id text not null,
    reviewer         text not null,
    environment_id   text not null,
    tenant_id        text not null,
    resolution       text not null check (resolution in ('approve', 'reject')),
    note             bytea,
    request_id       text not null,
    given_at         timestamptz not null,
    due_at           timestamptz not null,
    taken_at         timestamptz,
    remark           text,
    row_mac          bytea,
    primary key (authorization_id, reviewer, environment_id),
    constraint given_reviews_authorization_id_fkey foreign key (authorization_id, environment_id) references holds(authorization_id, environment_id) on delete cascade
);
create index given_reviews_reviewer on given_reviews (environment_id, reviewer);

-- Notes of reviewers, sealed.
create table review_notes (
    authorization_id text not null,
    reviewer         text not null,
    tenant_id        text not null,
    environment_id   text not null,
    subject_uid      text not null,
    note_digest      text not null,
    note             bytea not null,
    written_at       timestamptz not null,
    primary key (authorization_id, reviewer, note_digest, environment_id),
    constraint review_notes_authorization_id_fkey foreign key (authorization_id, environment_id) references holds(authorization_id, environment_id) on delete cascade
);
create index review_notes_age on review_notes using brin (written_at);
create index review_notes_subject on review_notes (subject_uid);

-- Requests to complete, cancel or review, for repeats of the same request.
create table move_requests (
    target           text not null,
    digest           bytea not null,
    authorization_id text not null,
    move             text not null check (move in ('complete', 'cancel', 'approve', 'reject')),
    actor            text not null,
    request_id       text not null,
    method           text,
    passkey_id       text,
    sign_count       bigint,
    backup_state     boolean,
    note_digest      text,
    requested_at     timestamptz not null,
    environment_id   text not null,
    row_mac          bytea,
    primary key (target, digest, environment_id),
    constraint move_requests_authorization_id_fkey foreign key (authorization_id, environment_id) references authorizations(id, environment_id) on delete cascade
);
create index move_requests_authorization on move_requests (authorization_id);

-- Evaluations of shadow decisions.
create table evaluations (
    id               text not null,
    tenant_id        text not null,
    environment_id   text not null,
    name             text not null,
    action_keys      text[] not null,
    action_ids       text[] not null,
    success_criteria json not null,
    status           text not null check (status in ('open', 'closed')),
    starts_at        timestamptz not null,
    ends_at          timestamptz,
    created_at       timestamptz not null,
    closed_at        timestamptz,
    report           json,
    primary key (id, environment_id)
);
create index evaluations_list on evaluations (environment_id, created_at desc, id desc);

-- The log: events, the audit chain, keys
-- --------------------------------------

-- The log of an environment: everything that happened, in order. salt goes with the data when an event is erased.
create table events (
    id               text not null,
    seq              bigint not null,
    tenant_id        text not null,
    environment_id   text not null,
    type             text not null,
    at               timestamptz not null,
    subject_uid      text,
    subject          text,
    action           text,
    authorization_id text,
    decision         text,
    actor            text not null,
    request_id       text,
    workflow_id      text,
    data             jsonb,
    salt             text,
    digest           text not null,
    erased_at        timestamptz,
    cause            text,
    primary key (id, environment_id)
);
create index events_age on events using brin (at);
create index events_authorization on events (authorization_id) where (authorization_id is not null);
create index events_cause on events (cause, environment_id) where (cause is not null);
create index events_decision_time on events (environment_id, decision, at, id) where (decision in ('challenge', 'hold', 'deny'));
create index events_number on events (environment_id, seq);
create index events_subject on events (subject_uid, seq) where (subject_uid is not null);
create index events_time on events (environment_id, at, id);
create index events_type_time on events (environment_id, type, at, id);
ALTER table events ALTER COLUMN seq ADD generated always as IDENTITY (
    SEQUENCE NAME events_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- The hash chain over the log.
create table audit_chain (
    environment_id text not null,
    seq            bigint not null,
    event_id       text not null,
    previous       bytea not null,
    hash           bytea not null,
    sealed_at      timestamptz not null,
    primary key (environment_id, seq)
);
create unique index audit_chain_event on audit_chain (event_id, environment_id);

-- How far each environment's log is sealed.
create table audit_heads (
    environment_id text primary key,
    seq            bigint not null,
    hash           bytea not null,
    top            bigint default 0 not null,
    settled        bigint default 0 not null,
    late           bigint default 0 not null,
    marks          jsonb default '[]' not null
);

-- Keys that sign proofs. Sealed is the private key of a software key, and the reference of a key that another backend holds.
create table signing_keys (
    kid            text primary key,
    tenant_id      text not null,
    environment_id text not null references environments(id),
    status         text not null check (status in ('next', 'active', 'retiring', 'retired')),
    backend        text default 'software' not null,
    public_jwk     jsonb not null,
    sealed         bytea not null,
    created_at     timestamptz not null,
    activated_at   timestamptz,
    last_used_at   timestamptz,
    retiring_at    timestamptz,
    retired_at     timestamptz,
    row_mac        bytea
);
create unique index signing_keys_one_active on signing_keys (environment_id) where (status = 'active');
create unique index signing_keys_one_next on signing_keys (environment_id) where (status = 'next');

-- Fingerprints of the master keys in use.
create table master_keys (
    id          text primary key,
    fingerprint bytea not null,
    recorded_at timestamptz not null,
    retired_at  timestamptz
);

-- What is sent: workflows, webhooks, notices
-- ------------------------------------------

-- What follows from a committed change: workflows to start, events to fan out, mail to send.
create table outbox (
    id             bigint primary key,
    topic          text not null,
    environment_id text not null,
    ref            text not null,
    payload        jsonb not null,
    created_at     timestamptz not null,
    available_at   timestamptz not null,
    attempts       integer default 0 not null,
    last_error     text
);
create index outbox_due on outbox (available_at, id);
create index outbox_untried on outbox (available_at) where (attempts = 0);
ALTER table outbox ALTER COLUMN id ADD generated always as IDENTITY (
    SEQUENCE NAME outbox_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- Endpoints of webhooks.
create table webhook_endpoints (
    id              text primary key,
    tenant_id       text not null,
    environment_id  text not null references environments(id),
    url             text not null,
    description     text not null,
    events          text[] not null,
    status          text not null check (status in ('enabled', 'disabled')),
    disabled_reason text,
    disabled_at     timestamptz,
    failing_since   timestamptz,
    created_at      timestamptz not null,
    updated_at      timestamptz not null,
    deleted_at      timestamptz,
    quiet_until     timestamptz,
    include_details boolean default false not null
);
create index webhook_endpoints_environment on webhook_endpoints (environment_id) where (deleted_at is null);

-- Secrets of endpoints, sealed. An endpoint has two while a rotation overlaps.
create table webhook_secrets (
    id          text primary key,
    endpoint_id text not null references webhook_endpoints(id) on delete cascade,
    sealed      bytea not null,
    created_at  timestamptz not null,
    expires_at  timestamptz
);
create index webhook_secrets_endpoint on webhook_secrets (endpoint_id);

-- One event for one endpoint.
create table webhook_deliveries (
    id              text not null,
    endpoint_id     text not null references webhook_endpoints(id) on delete cascade,
    event_id        text not null,
    type            text not null,
    replay          text default '' not null,
    status          text not null check (status in ('pending', 'succeeded', 'failed', 'discarded')),
    attempts        integer default 0 not null,
    next_attempt_at timestamptz not null,
    created_at      timestamptz not null,
    settled_at      timestamptz,
    environment_id  text not null,
    primary key (id, environment_id),
    constraint webhook_deliveries_endpoint_id_event_id_replay_key unique (endpoint_id, event_id, replay, environment_id)
);
create index webhook_deliveries_age on webhook_deliveries (created_at);
create index webhook_deliveries_time on webhook_deliveries (endpoint_id, created_at, id);
create index webhook_deliveries_turn on webhook_deliveries (environment_id, endpoint_id, next_attempt_at, event_id) where (status = 'pending');
create index webhook_deliveries_waiting on webhook_deliveries (next_attempt_at) where (status = 'pending');

-- Attempts to deliver.
create table webhook_attempts (
    id              text not null,
    delivery_id     text not null,
    endpoint_id     text not null,
    event_id        text not null,
    type            text not null,
    attempt         integer not null,
    at              timestamptz not null,
    status_code     integer,
    latency_ms      integer not null,
    response_digest text,
    error           text,
    succeeded       boolean not null,
    environment_id  text not null,
    primary key (id, environment_id),
    constraint webhook_attempts_delivery_id_fkey foreign key (delivery_id, environment_id) references webhook_deliveries(id, environment_id) on delete cascade
);
create index webhook_attempts_age on webhook_attempts using brin (at);
create index webhook_attempts_delivery on webhook_attempts (delivery_id);
create index webhook_attempts_time on webhook_attempts (endpoint_id, at, id);

-- Which notices a person wants.
create table notice_choices (
    environment_id text not null references environments(id),
    tenant_id      text not null,
    person_id      text not null references people(id) on delete cascade,
    kind           text not null check (kind in ('opened', 'due_soon', 'escalated')),
    channel        text not null,
    primary key (environment_id, kind, channel, person_id)
);
create index notice_choices_person on notice_choices (person_id);

-- Notices to staff, by mail or chat. One message carries several: that of the notice carried_by.
create table notices (
    id               text not null,
    tenant_id        text not null,
    environment_id   text not null,
    authorization_id text not null,
    kind             text not null,
    recipient        text not null,
    status           text not null check (status in ('pending', 'sent', 'failed', 'discarded')),
    attempts         integer default 0 not null,
    failure          text,
    created_at       timestamptz not null,
    due_at           timestamptz not null,
    carried_by       text,
    settled_at       timestamptz,
    primary key (id, environment_id),
    constraint notices_authorization_id_environment_id_kind_recipient_key unique (authorization_id, environment_id, kind, recipient),
    constraint notices_authorization_id_fkey foreign key (authorization_id, environment_id) references holds(authorization_id, environment_id) on delete cascade
);
create index notices_age on notices (created_at) where (status <> 'pending');
create index notices_carried on notices (carried_by);
create index notices_recipient on notices (environment_id, recipient, due_at);

-- Incoming webhooks of chats, sealed.
create table chat_addresses (
    id             text primary key,
    tenant_id      text not null,
    environment_id text not null references environments(id),
    name           text not null,
    shape          text not null check (shape in ('slack', 'teams')),
    host           text not null,
    url            bytea,
    created_at     timestamptz not null,
    created_by     text not null,
    failing_since  timestamptz,
    failure        text,
    removed_at     timestamptz
);
create unique index chat_addresses_name on chat_addresses (environment_id, name) where (removed_at is null);

-- Postgres compresses: with lz4 if the server has it.
-- +goose StatementBegin
do $$
begin
    alter table authorizations alter column assurance set compression lz4, alter column explanation set compression lz4, alter column response set compression lz4;
    alter table events alter column data set compression lz4;
exception when feature_not_supported then
    raise notice 'the server has no lz4';
end $$;
-- +goose StatementEnd
