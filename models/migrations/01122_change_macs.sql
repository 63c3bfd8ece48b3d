-- +goose Up

-- MACs for change requests. Version 1.0 writes these rows without one: they are believed until countersign migrate --finish.
alter table changes add column row_mac bytea;
