-- +goose Up

-- Who may approve a hold alone, and the review that follows; null and zero for a policy without break-glass.
alter table holds add column glass_team text;
alter table holds add column glass_approvals integer default 0 not null;
alter table holds add column glass_seconds bigint default 0 not null;

-- A hold in the chain of parents was approved by break-glass. Version 1.0 refuses to decide after such a decision: its MAC covers the column.
alter table authorizations add column break_glass boolean default false not null;

alter table reviews drop constraint reviews_resolution_check;
alter table reviews add constraint reviews_resolution_check check (resolution in ('approve', 'reject', 'break_glass')) not valid;
alter table given_reviews drop constraint given_reviews_resolution_check;
alter table given_reviews add constraint given_reviews_resolution_check check (resolution in ('approve', 'reject', 'break_glass')) not valid;
alter table move_requests drop constraint move_requests_move_check;
alter table move_requests add constraint move_requests_move_check check (move in ('complete', 'cancel', 'approve', 'reject', 'break_glass')) not valid;

-- The review after a break-glass. It names no subject and stays when the subject is erased: an erasure frees no one from it.
create table after_reviews (
    authorization_id text not null, -- the held decision
    tenant_id        text not null,
    environment_id   text not null,
    action_id        text not null,
    broken_by        text not null,
    principal        text not null, -- of the one who broke the glass, at the time
    requested_by     text not null,
    requester_person text,
    team             text not null,
    reason_digest    text not null,
    approvals        integer not null check (approvals between 1 and 5),
    opened_at        timestamptz not null,
    due_at           timestamptz not null,
    status           text not null check (status in ('open', 'justified', 'not_justified')),
    overdue_at       timestamptz,
    closed_at        timestamptz,
    row_mac          bytea,
    primary key (authorization_id, environment_id)
);
-- Of two that one person opens at the same time, the second fails.
create unique index after_reviews_open on after_reviews (environment_id, principal) where status = 'open';
create index after_reviews_newest on after_reviews (environment_id, opened_at desc, authorization_id desc);
create index after_reviews_due on after_reviews (due_at) where status = 'open';

create table after_verdicts (
    authorization_id text not null,
    environment_id   text not null,
    tenant_id        text not null,
    reviewer         text not null,
    principal        text not null,
    verdict          text not null check (verdict in ('justified', 'not_justified')),
    note_digest      text not null,
    at               timestamptz not null,
    row_mac          bytea,
    primary key (authorization_id, reviewer, environment_id),
    constraint after_verdicts_authorization_id_fkey foreign key (authorization_id, environment_id) references after_reviews(authorization_id, environment_id) on delete cascade
);
