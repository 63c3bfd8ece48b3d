-- Restrictions of a subject that outlive its erasure until they are ended, the request to end a revocation, and whom accounts of staff count as.
-- +goose Up
alter table erased_terms
    add column revoked_at timestamptz,
    add column frozen     boolean not null default false; -- adaptation of templates
alter table changes drop constraint changes_kind_check;
alter table changes add constraint changes_kind_check check (kind in ('policy.activate', 'action.mode', 'environment.settings', 'team.create',
    'team.update', 'team.delete', 'webhook.create', 'webhook.update', 'list.entries', 'list.delete', 'subject.reinstate')) not valid;
alter table changes validate constraint changes_kind_check;
create index people_counts_as on people (tenant_id, (coalesce(principal, 'person:' || id)));
