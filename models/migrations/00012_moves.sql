-- What somebody asked of a challenge or a hold, written before the run is told of it: a workflow's payload carries the
-- digest alone, and what a completion rests on (the verified passkey) is at hand when the move is made.
-- +goose Up
create table move_requests (
    target           text        not null,
    digest           bytea       not null,
    authorization_id text        not null references authorizations (id) on delete cascade,
    move             text        not null check (move in ('complete', 'cancel', 'approve', 'reject')),
    actor            text        not null,
    request_id       text        not null,
    method           text,
    passkey_id       text,
    sign_count       bigint,
    backup_state     boolean,
    note_digest      text,
    requested_at     timestamptz not null,
    primary key (target, digest)
);
create index move_requests_authorization on move_requests (authorization_id);

-- Where the policy that held wants another reviewer than the credential that asked.
alter table holds add column self_review_barred boolean not null default false;
create index holds_newest on holds (environment_id, status, opened_at desc, authorization_id desc);
create index challenges_links on challenge_links (challenge_id);

-- +goose Down
drop index challenges_links, holds_newest;
alter table holds drop column self_review_barred;
drop table move_requests;
