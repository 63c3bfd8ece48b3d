-- The indexes of lists in ascending order. Rows arrive in the order of time: at the end of an ascending index they fill a page before the
-- next begins, at the front of a descending one they leave each page half empty. Either order serves a list that is read from its newest
-- row. They are built concurrently, so that no request waits; a build that was interrupted is dropped first.
-- +goose NO TRANSACTION
-- +goose Up
set statement_timeout = 0;
drop index concurrently if exists authorizations_action_time;
create index concurrently authorizations_action_time on authorizations (environment_id, action_id, decided_at, id);
drop index concurrently if exists authorizations_by_action;
drop index concurrently if exists events_time;
create index concurrently events_time on events (environment_id, at, id);
drop index concurrently if exists events_list;
drop index concurrently if exists events_type_time;
create index concurrently events_type_time on events (environment_id, type, at, id);
drop index concurrently if exists events_type;
drop index concurrently if exists events_decision_time;
create index concurrently events_decision_time on events (environment_id, decision, at, id) where decision in ('challenge', 'hold', 'deny');
drop index concurrently if exists events_decision;
drop index concurrently if exists webhook_deliveries_time;
create index concurrently webhook_deliveries_time on webhook_deliveries (endpoint_id, created_at, id);
drop index concurrently if exists webhook_deliveries_list;
drop index concurrently if exists webhook_attempts_time;
create index concurrently webhook_attempts_time on webhook_attempts (endpoint_id, at, id);
drop index concurrently if exists webhook_attempts_list;
reset statement_timeout;

-- +goose Down
drop index authorizations_action_time, events_time, events_type_time, events_decision_time, webhook_deliveries_time, webhook_attempts_time;
create index authorizations_by_action on authorizations (environment_id, action_id, decided_at desc, id desc);
create index events_list on events (environment_id, at desc, id desc);
create index events_type on events (environment_id, type, at desc, id desc);
create index events_decision on events (environment_id, decision, at desc, id desc) where decision in ('challenge', 'hold', 'deny');
create index webhook_deliveries_list on webhook_deliveries (endpoint_id, created_at desc, id desc);
create index webhook_attempts_list on webhook_attempts (endpoint_id, at desc, id desc);
