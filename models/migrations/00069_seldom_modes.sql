-- Binaries from this version on list decisions by a mode other than enforce by the index authorizations_seldom, which countersign migrate
-- builds after the migrations: its steps also fit a table that is divided into partitions. Earlier binaries need nothing of it.
-- +goose Up
select 1;

-- +goose Down
select 1;
