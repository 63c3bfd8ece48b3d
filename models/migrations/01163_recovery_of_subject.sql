-- +goose Up

-- The recovery that a subject began last: it is refused to go on without the row, and to be an earlier copy of the subject. Null for none, and for recoveries that
-- version 1.0 began, until countersign migrate --finish.
alter table subjects add column recovery_id text;
