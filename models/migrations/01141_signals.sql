-- Security events that an identity provider sends about subjects (OpenID Shared Signals).
-- +goose Up

alter table changes drop constraint changes_kind_check;
alter table changes add constraint changes_kind_check check (kind in ('policy.activate', 'action.mode', 'environment.settings', 'team.create', 'team.update', 'team.delete',
    'webhook.create', 'webhook.update', 'list.entries', 'list.delete', 'subject.reinstate', 'person.manager', 'signals.set', 'signals.remove')) not valid;
alter table changes validate constraint changes_kind_check;

-- Until when an event requires a challenge of the subject for every decision.
alter table subjects add column challenge_until timestamptz;
alter table erased_terms add column challenge_until timestamptz;

-- An issuer whose events an environment takes, with where they come from and what they do.
create table signal_streams (
    id             text primary key,
    tenant_id      text not null references tenants(id),
    environment_id text not null references environments(id),
    name           text not null,
    issuer         text not null,
    audience       text not null,
    keys_url       text,                   -- where the issuer's keys are published
    keys           jsonb,                  -- or the keys themselves
    poll_url       text,                   -- where events are fetched; without it, the issuer pushes them
    effects        jsonb not null,         -- what events do, where it differs from the defaults
    created_at     timestamptz not null,
    updated_at     timestamptz not null,
    push_mac       bytea,                  -- of the token with which the issuer pushes
    poll_token     bytea,                  -- sealed
    polled_at      timestamptz,
    received_at    timestamptz,
    status         text not null,          -- as the issuer says
    last_error     text,
    row_mac        bytea,
    unique (environment_id, name)
);
create unique index signal_streams_push on signal_streams (push_mac) where (push_mac is not null);

create table signals (
    id             text not null,
    tenant_id      text not null,
    environment_id text not null,
    stream_id      text not null,     -- outlives its stream: rules go on to count it
    token          bytea not null,    -- digest of the id that the issuer gave the token of the event
    place          integer not null,  -- of the event and of the subject in the token
    type           text not null,
    eased          boolean not null,  -- says that a risk became smaller
    subject_uid    text,              -- null for one that is not known
    at             timestamptz not null,
    received_at    timestamptz not null,
    effects        text[] not null,
    primary key (id, environment_id),
    constraint signals_token unique (environment_id, stream_id, token, place),
    constraint signals_subject_uid_fkey foreign key (subject_uid, environment_id) references subjects(uid, environment_id) on delete cascade
);
create index signals_counts on signals (environment_id, subject_uid, type, at desc) where (not eased);
create index signals_stream on signals (environment_id, stream_id, received_at desc);
create index signals_received on signals using brin (received_at);
