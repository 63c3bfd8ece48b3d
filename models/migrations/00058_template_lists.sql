-- The index of the list of a subject's templates, newest first. A subject gathers a thousand versions; few are written in a day. It is
-- built concurrently, so that no request waits; a build that was interrupted is dropped first.
-- +goose NO TRANSACTION
-- +goose Up
set statement_timeout = 0;
drop index concurrently if exists templates_list;
create index concurrently templates_list on templates (subject_uid, created_at, id);
reset statement_timeout;

-- +goose Down
drop index templates_list;
