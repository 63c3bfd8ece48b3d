-- +goose Up

create table standing_approvals (
    id               text not null,
    tenant_id        text not null,
    environment_id   text not null,
    subject_uid      text not null,
    action_id        text not null,
    action_key       text not null,
    policy_version   integer not null,
    policy_hash      text not null,
    mode             text not null,
    source           text not null check (source in ('passkey', 'review')),
    audience         text not null,
    resource_type    text not null,
    terms            bytea not null,
    max_uses         integer not null check (max_uses > 0),
    max_amount       numeric check (max_amount > 0),
    currency         text not null,
    ends_at          timestamptz not null,
    created_at       timestamptz not null,
    created_by       text not null,
    status           text not null check (status in ('pending', 'active', 'ended')),
    authorization_id text not null,
    passkey_id       text,
    hold_id          text,
    begun_at         timestamptz,
    uses             integer not null default 0 check (uses between 0 and max_uses),
    amount_used      numeric not null default 0 check (amount_used between 0 and coalesce(max_amount, 0)),
    revision         bigint not null default 0,
    ended_at         timestamptz,
    ended_by         text,
    end_reason       text,
    row_mac          bytea,
    primary key (id, environment_id)
);
create index standing_approvals_newest on standing_approvals (environment_id, created_at desc, id desc);
create index standing_approvals_subject on standing_approvals (environment_id, subject_uid, created_at desc, id desc);
create index standing_approvals_hold on standing_approvals (environment_id, hold_id) where hold_id is not null;
create index standing_approvals_ends on standing_approvals (ends_at) where status = 'active';

-- A decision that uses a standing approval, with the amount that it counts, and one that asks for one. Version 1.0 refuses to decide after such a
-- decision: its MAC covers the columns.
alter table authorizations add column standing_id text;
alter table authorizations add column standing_amount text;
alter table authorizations add column opens_standing text;
