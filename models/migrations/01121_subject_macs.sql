-- +goose Up

-- MACs for subjects. Version 1.0 writes these rows without one: they are believed until countersign migrate --finish. When a revocation ended distinguishes the
-- subject from an earlier copy of it.
alter table subjects add column row_mac bytea;
alter table subjects add column reinstated_at timestamptz;
