-- Upkeep starts the workflows of enrollments again that are pending for too long (unfinished-enrollments). The index is built
-- concurrently, so that no request waits; a build that was interrupted is dropped first.
-- +goose NO TRANSACTION
-- +goose Up
set statement_timeout = 0;
drop index concurrently if exists enrollments_unfinished;
create index concurrently enrollments_unfinished on enrollments (created_at) where status = 'pending';
reset statement_timeout;

-- +goose Down
drop index enrollments_unfinished;
