-- Changes that wait for a second person or key, in environments that require one. What was proposed and what was in force then are
-- kept as they were: an approval applies only if the latter is still in force.
-- +goose Up
alter table environments
    add column second_approver_required boolean not null default false,
    add column change_ttl_seconds integer not null default 86400 check (change_ttl_seconds between 300 and 2592000);

create table changes (
    id             text        primary key,
    tenant_id      text        not null references tenants (id),
    environment_id text        not null references environments (id),
    kind           text        not null check (kind in ('policy.activate', 'action.mode', 'environment.settings')),
    status         text        not null check (status in ('pending', 'approved', 'rejected', 'withdrawn', 'superseded', 'expired')),
    target         text        not null,
    action         text        not null default '',
    proposed       jsonb       not null,
    base           jsonb       not null,
    differences    jsonb       not null,
    digest         bytea       not null,
    proposed_by    text        not null,
    -- Who stands behind the proposer: the person, or the credential at the root of the chain of issue.
    principal      text        not null,
    created_at     timestamptz not null,
    expires_at     timestamptz not null,
    resolved_at    timestamptz,
    resolved_by    text
);
create index changes_list on changes (environment_id, created_at desc, id desc);
-- A proposal that is repeated while it waits is the same change.
create unique index changes_pending on changes (environment_id, digest) where status = 'pending';
create index changes_due on changes (expires_at) where status = 'pending';

-- +goose Down
drop table changes;
alter table environments drop column change_ttl_seconds, drop column second_approver_required;
