-- +goose Up

-- A hold may have steps, each with approvals of its own. A hold of version 1.0 has none of these rows: it is one step. Version 1.0 refuses to
-- approve a hold with steps: teams_required counts them too, and it misses them in hold_teams.
create table hold_steps (
    authorization_id text not null,
    tenant_id        text not null,
    environment_id   text not null,
    step             integer not null check (step between 0 and 4),
    name             text not null,
    approvals        integer not null check (approvals between 1 and 10),
    within_seconds   bigint default 0 not null, -- 0: as long as the hold waits
    timeout_team     text,                      -- null: the hold expires with the step
    opened_at        timestamptz,
    due_at           timestamptz,
    satisfied_at     timestamptz,
    row_mac          bytea,
    primary key (authorization_id, step, environment_id),
    constraint hold_steps_authorization_id_fkey foreign key (authorization_id, environment_id) references holds(authorization_id, environment_id) on delete cascade
);

alter table holds add column ends_at timestamptz;
alter table holds add column repeat_approvers boolean default false not null;
alter table holds drop constraint holds_approvals_required_check;
alter table holds add constraint holds_approvals_required_check check (approvals_required between 1 and 50) not valid;
alter table holds drop constraint holds_status_check;
alter table holds add constraint holds_status_check check (status in ('pending', 'approved', 'rejected', 'expired', 'withdrawn')) not valid;

alter table hold_teams add column step integer default 0 not null;
alter table hold_teams add column escalate_after bigint; -- seconds, of a step that is not open yet
-- Of an entry that names a person: the team that approves instead, the person whom the request names, and who approves since the step opened.
alter table hold_teams add column fallback_team text;
alter table hold_teams add column candidate text;
alter table hold_teams add column person text;
alter table hold_teams add column fallback_reason text;
alter table holds add column requester_person text;
alter table reviews add column step integer default 0 not null;
alter table given_reviews add column step integer default 0 not null;
alter table move_requests add column step integer default 0 not null;

alter table changes drop constraint changes_kind_check;
alter table changes add constraint changes_kind_check check (kind in ('policy.activate', 'action.mode', 'environment.settings', 'team.create',
    'team.update', 'team.delete', 'webhook.create', 'webhook.update', 'list.entries', 'list.delete', 'subject.reinstate', 'person.manager')) not valid;
