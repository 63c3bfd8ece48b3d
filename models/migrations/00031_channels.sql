-- What a client token may do is narrowed by name: no purposes are both, no session_id is any session of its subject.
-- enrollment_asked_at is when the first token that names enroll was made (or a server key first sent a frame to enroll by)
-- since the last enrollment or recovery. refused_sessions are those that did not fit the others of an enrollment.
-- +goose Up
alter table client_tokens add column purposes text[] not null default '{}', add column session_id text;
alter table environments add column enrollment_grant_required boolean not null default false;
alter table subjects add column enrollment_asked_at timestamptz;
alter table enrollments add column refused_sessions text[] not null default '{}';

-- +goose Down
alter table enrollments drop column refused_sessions;
alter table subjects drop column enrollment_asked_at;
alter table environments drop column enrollment_grant_required;
alter table client_tokens drop column purposes, drop column session_id;
