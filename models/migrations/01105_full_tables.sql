-- Indexes of filters that would read a large table without them: entries of the log by actor, and decisions other than allow by action. When
-- a quota was last used, so that a clock that was ahead then can be seen.
-- +goose NO TRANSACTION
-- +goose Up

-- The tables stay writable meanwhile, which can take minutes. An attempt that was interrupted leaves an index that is not valid.
set statement_timeout = 0;
drop index concurrently if exists events_actor_time;
create index concurrently events_actor_time on events (environment_id, actor, at, id);
drop index concurrently if exists events_decision_action;
create index concurrently events_decision_action on events (environment_id, decision, action, at, id) where (decision in ('challenge', 'hold', 'deny'));
reset statement_timeout;
alter table quotas add column if not exists used_at timestamptz;
