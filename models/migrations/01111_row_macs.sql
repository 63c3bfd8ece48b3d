-- +goose Up

-- MACs for decisions, challenges and proofs. Version 1.0 writes these rows without one: they are believed until countersign migrate --finish.
alter table authorizations add column row_mac bytea;
alter table challenges add column row_mac bytea;
alter table proofs add column row_mac bytea;

-- Whether rows of version 1.0 are believed: the time at which that began, and the one at which it ended.
create table bridges (
    name text primary key,
    at   timestamptz not null,
    mac  bytea not null
);
