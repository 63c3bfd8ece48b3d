-- What rules count outlives the erasure of a subject, without the decisions that it rests on.
-- +goose Up
alter table aggregate_values drop constraint aggregate_values_request_id_fkey;
