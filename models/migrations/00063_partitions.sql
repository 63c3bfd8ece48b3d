-- Binaries from this version on expect that a table may be divided into partitions (countersign migrate --partition): earlier ones
-- delete rows by their place, which is unique in one partition only. Retention finds old attempts of deliveries by this index, which
-- is built concurrently, so that no request waits; a build that was interrupted is dropped first.
-- +goose NO TRANSACTION
-- +goose Up
set statement_timeout = 0;
drop index concurrently if exists webhook_attempts_age;
create index concurrently webhook_attempts_age on webhook_attempts using brin (at);
reset statement_timeout;

-- +goose Down
drop index webhook_attempts_age;
