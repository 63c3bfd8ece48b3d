-- Every frame of evidence changes last_activity_at. With an index on it no update of a session was heap-only: each wrote to
-- every index of the table. A session begins before its last activity, so by the beginning the same ones are found. Half of
-- a page is left for the next versions of its rows. What is sealed cannot be compressed.
-- +goose Up
create index sessions_active on sessions (started_at) where status = 'active';
create index sessions_over on sessions (started_at) where status <> 'active';
drop index sessions_idle, sessions_age;
alter table sessions set (fillfactor = 50);
alter table sessions alter column state set storage external;
alter table templates alter column data set storage external;

-- +goose Down
alter table templates alter column data set storage extended;
alter table sessions alter column state set storage extended;
alter table sessions reset (fillfactor);
create index sessions_idle on sessions (last_activity_at) where status = 'active';
create index sessions_age on sessions (last_activity_at) where status <> 'active';
drop index sessions_active, sessions_over;
