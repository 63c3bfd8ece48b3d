-- +goose Up

-- MACs for recoveries, sessions and webhook endpoints. Version 1.0 writes these rows without one: they are believed until countersign migrate --finish.
alter table recoveries add column row_mac bytea;
alter table sessions add column row_mac bytea;
alter table webhook_endpoints add column row_mac bytea;
