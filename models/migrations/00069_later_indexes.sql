-- Binaries from this version on list decisions by a mode other than enforce by the index authorizations_seldom, and read what is due of an
-- endpoint by webhook_deliveries_turn. countersign migrate builds both after the migrations: its steps also fit a table that is divided
-- into partitions. The index webhook_deliveries_due, which only earlier binaries read, goes with countersign migrate --contract.
-- +goose Up
select 1;

-- +goose Down
select 1;
