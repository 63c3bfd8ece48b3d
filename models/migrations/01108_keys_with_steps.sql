-- The keys of two tables gain the step. They keep their names, which statements of version 1.0 use.
-- +goose NO TRANSACTION
-- +goose Up

-- The tables stay writable while the indexes are built, which can take minutes; the change of the key itself reads no rows. An attempt that was
-- interrupted leaves an index that is not valid.
set statement_timeout = 0;
drop index concurrently if exists hold_teams_key;
create unique index concurrently hold_teams_key on hold_teams (authorization_id, team, step, environment_id);
alter table hold_teams drop constraint hold_teams_pkey, add constraint hold_teams_pkey primary key using index hold_teams_key;
drop index concurrently if exists reviews_key;
create unique index concurrently reviews_key on reviews (authorization_id, reviewer, step, environment_id);
alter table reviews drop constraint reviews_pkey, add constraint reviews_pkey primary key using index reviews_key;
alter table holds validate constraint holds_approvals_required_check;
alter table holds validate constraint holds_status_check;
reset statement_timeout;
