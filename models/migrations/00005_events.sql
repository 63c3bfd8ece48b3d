-- The event log, its hash chain, the outbox and the webhooks that hear of it.
-- +goose Up
-- One log: activity, the event stream, webhooks and the audit chain all read it. txid orders what was committed: a
-- reader takes rows with txid below the oldest running transaction, so that a late commit is never stepped over.
create table events (
    id               text primary key,
    seq              bigint generated always as identity,
    txid             xid8        not null default pg_current_xact_id(),
    tenant_id        text        not null,
    environment_id   text        not null,
    type             text        not null,
    at               timestamptz not null,
    subject_uid      text,
    subject          text,
    action           text,
    authorization_id text,
    decision         text,
    actor            text        not null,
    request_id       text,
    workflow_id      text,
    data             jsonb,
    salt             bytea,
    digest           bytea       not null,
    erased_at        timestamptz
);
create index events_order on events (environment_id, txid, seq);
create index events_subject on events (subject_uid, txid, seq) where subject_uid is not null;

create table audit_chain (
    environment_id text        not null,
    seq            bigint      not null,
    event_id       text        not null,
    previous       bytea       not null,
    hash           bytea       not null,
    sealed_at      timestamptz not null,
    primary key (environment_id, seq)
);
create unique index audit_chain_event on audit_chain (event_id);

-- Where the sealer stands in each environment's log.
create table audit_heads (
    environment_id text primary key,
    txid           xid8   not null,
    event_seq      bigint not null,
    seq            bigint not null,
    hash           bytea  not null
);

-- Work that must follow a commit: starting a run, fanning an event out. A row is deleted once it is done.
create table outbox (
    id             bigint generated always as identity primary key,
    topic          text        not null,
    environment_id text        not null,
    ref            text        not null,
    payload        jsonb       not null,
    created_at     timestamptz not null,
    available_at   timestamptz not null,
    attempts       integer     not null default 0,
    last_error     text
);
create index outbox_due on outbox (available_at, id);

create table webhook_endpoints (
    id              text primary key,
    tenant_id       text        not null,
    environment_id  text        not null references environments (id),
    url             text        not null,
    description     text        not null,
    events          text[]      not null,
    status          text        not null check (status in ('enabled', 'disabled')),
    disabled_reason text,
    disabled_at     timestamptz,
    failing_since   timestamptz,
    created_at      timestamptz not null,
    updated_at      timestamptz not null,
    deleted_at      timestamptz
);
create index webhook_endpoints_environment on webhook_endpoints (environment_id) where deleted_at is null;

create table webhook_secrets (
    id          text primary key,
    endpoint_id text        not null references webhook_endpoints (id) on delete cascade,
    sealed      bytea       not null,
    created_at  timestamptz not null,
    expires_at  timestamptz
);
create index webhook_secrets_endpoint on webhook_secrets (endpoint_id);

create table webhook_deliveries (
    id              text primary key,
    endpoint_id     text        not null references webhook_endpoints (id) on delete cascade,
    event_id        text        not null,
    type            text        not null,
    replay          text        not null default '',
    status          text        not null check (status in ('pending', 'succeeded', 'failed', 'discarded')),
    attempts        integer     not null default 0,
    next_attempt_at timestamptz not null,
    created_at      timestamptz not null,
    settled_at      timestamptz,
    unique (endpoint_id, event_id, replay)
);
create index webhook_deliveries_due on webhook_deliveries (endpoint_id, next_attempt_at) where status = 'pending';
create index webhook_deliveries_list on webhook_deliveries (endpoint_id, created_at desc, id desc);

create table webhook_attempts (
    id              text primary key,
    delivery_id     text        not null references webhook_deliveries (id) on delete cascade,
    endpoint_id     text        not null,
    event_id        text        not null,
    type            text        not null,
    attempt         integer     not null,
    at              timestamptz not null,
    status_code     integer,
    latency_ms      integer     not null,
    response_digest text,
    error           text,
    succeeded       boolean     not null
);
create index webhook_attempts_list on webhook_attempts (endpoint_id, at desc, id desc);

-- +goose Down
drop table webhook_attempts, webhook_deliveries, webhook_secrets, webhook_endpoints, outbox, audit_heads, audit_chain, events;
