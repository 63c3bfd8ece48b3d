-- Notices about holds: the e-mail address and the choices of each member of staff, the chat addresses of an environment, and the
-- notices themselves.
-- +goose Up
-- The address of a person, sealed. Notices are sent to it once a code that was mailed there has come back.
create table person_addresses (
    person_id       text        primary key references people (id) on delete cascade,
    tenant_id       text        not null,
    address         bytea       not null,
    code_mac        bytea,
    code_expires_at timestamptz,
    attempts        integer     not null default 0,
    changed_at      timestamptz not null,
    confirmed_at    timestamptz
);

-- The URL of a chat gives the right to write there: it is sealed, and removed with the address. Only its host is shown.
create table chat_addresses (
    id             text        primary key,
    tenant_id      text        not null,
    environment_id text        not null references environments (id),
    name           text        not null,
    shape          text        not null check (shape in ('slack', 'teams')),
    host           text        not null,
    url            bytea,
    created_at     timestamptz not null,
    created_by     text        not null,
    failing_since  timestamptz,
    failure        text,
    removed_at     timestamptz
);
create unique index chat_addresses_name on chat_addresses (environment_id, name) where removed_at is null;

-- channel is email or the id of a chat address.
create table notice_choices (
    environment_id text not null references environments (id),
    tenant_id      text not null,
    person_id      text not null references people (id) on delete cascade,
    kind           text not null check (kind in ('opened', 'due_soon', 'escalated')),
    channel        text not null,
    primary key (environment_id, kind, channel, person_id)
);
create index notice_choices_person on notice_choices (person_id);

-- The unique key is what makes a notice happen once, however often its cause is handled. recipient is a person, by e-mail, or a chat
-- address.
create table notices (
    id               text        primary key,
    tenant_id        text        not null,
    environment_id   text        not null,
    authorization_id text        not null references holds (authorization_id) on delete cascade,
    kind             text        not null,
    recipient        text        not null,
    status           text        not null check (status in ('pending', 'sent', 'failed', 'discarded')),
    attempts         integer     not null default 0,
    failure          text,
    created_at       timestamptz not null,
    settled_at       timestamptz,
    unique (authorization_id, environment_id, kind, recipient)
);
create index notices_age on notices (created_at) where status <> 'pending';

-- +goose Down
drop table notices, notice_choices, chat_addresses, person_addresses;
