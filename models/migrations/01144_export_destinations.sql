-- Destinations to which the sealed log of an environment is pushed.
-- +goose Up

alter table changes drop constraint changes_kind_check;
alter table changes add constraint changes_kind_check check (kind in ('policy.activate', 'action.mode', 'environment.settings', 'team.create', 'team.update', 'team.delete',
    'webhook.create', 'webhook.update', 'list.entries', 'list.delete', 'subject.reinstate', 'person.manager', 'signals.set', 'signals.remove',
    'destination.set', 'destination.remove')) not valid;
alter table changes validate constraint changes_kind_check;

create table export_destinations (
    id              text not null,
    tenant_id       text not null references tenants(id),
    environment_id  text not null references environments(id),
    name            text not null,
    kind            text not null,      -- otlp, https or syslog
    url             text not null,
    encoding        text not null,
    header          text not null,      -- of the request, for the credential
    ca              text not null,      -- certificates in PEM that sign the receiver's; empty for those of the machine
    since           timestamptz,        -- entries from before are passed over
    created_at      timestamptz not null,
    updated_at      timestamptz not null,
    credentials     bytea,              -- sealed
    position        bigint not null,    -- the number of the last entry that the receiver confirmed
    reserved_by     text,               -- of the process that sends
    reserved_until  timestamptz,
    next_attempt_at timestamptz not null,
    failures        integer not null,   -- in a row
    failing_since   timestamptz,
    sent_at         timestamptz,
    last_error      text,
    row_mac         bytea,
    primary key (id, environment_id),
    unique (environment_id, name)
);
