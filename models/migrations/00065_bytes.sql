-- Digests as bytes, and the data of a decision's event as one compressed value (models/digests.go, models/events.go). The columns that had
-- both as text stay for the rows that exist and are null in new ones.
-- +goose Up
set lock_timeout = '5s';
alter table authorizations add column digests bytea;
alter table events add column packed bytea;
-- Both are random or compressed already.
alter table authorizations alter column digests set storage external;
alter table events alter column packed set storage external;
reset lock_timeout;

-- +goose Down
alter table events drop column packed;
alter table authorizations drop column digests;
