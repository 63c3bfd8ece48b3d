-- Changes of teams wait for a second person or key like changes of policies: teams decide who may approve.
-- +goose Up
alter table changes drop constraint changes_kind_check;
alter table changes add constraint changes_kind_check check (kind in ('policy.activate', 'action.mode', 'environment.settings',
    'team.create', 'team.update', 'team.delete'));

-- +goose Down
delete from changes where kind like 'team.%';
alter table changes drop constraint changes_kind_check;
alter table changes add constraint changes_kind_check check (kind in ('policy.activate', 'action.mode', 'environment.settings'));
