-- +goose Up

-- The traceparent (W3C Trace Context) of the request that the work or the delivery follows from; empty unless its trace is exported. The
-- transaction that adds work to the outbox sets it.
alter table outbox add column trace text not null default coalesce(current_setting('countersign.trace', true), '');
alter table webhook_deliveries add column trace text not null default '';
