-- Readers of the log: the activity list by time and by type, the audit trail by authorization. The webhook sender's own
-- word of when it will look at an endpoint again, so that a busy or broken endpoint is not woken for every event.
-- +goose Up
create index events_list on events (environment_id, at desc, id desc);
create index events_type on events (environment_id, type, at desc, id desc);
create index events_decision on events (environment_id, decision, at desc, id desc) where decision in ('challenge', 'hold', 'deny');
create index events_authorization on events (authorization_id) where authorization_id is not null;

alter table webhook_endpoints add column quiet_until timestamptz;
create index webhook_deliveries_waiting on webhook_deliveries (next_attempt_at) where status = 'pending';
create index webhook_deliveries_age on webhook_deliveries (created_at);
create index webhook_attempts_age on webhook_attempts (at);
create index webhook_attempts_delivery on webhook_attempts (delivery_id);

-- +goose Down
drop index webhook_attempts_delivery, webhook_attempts_age, webhook_deliveries_age, webhook_deliveries_waiting;
alter table webhook_endpoints drop column quiet_until;
drop index events_authorization, events_decision, events_type, events_list;
