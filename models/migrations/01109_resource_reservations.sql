-- How long a request that waits counts towards the limits of its resource. Requests of version 1.0 have no end: they count until they are settled.
-- +goose Up
alter table environments add column resource_reservation_seconds integer default 900 not null
    check (resource_reservation_seconds between 60 and 2592000);
alter table aggregate_values add column resource_until timestamptz;
