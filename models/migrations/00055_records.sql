-- The assurance profile, the explanation and the response of a decision become one compressed value, which fits into the row. The columns
-- that had them stay for the rows that exist and are null in new ones.
-- +goose Up
alter table authorizations add column record bytea;
-- It is compressed already: what does not fit into the row is stored beside it as it is.
alter table authorizations alter column record set storage external;
alter table authorizations alter column assurance drop not null, alter column explanation drop not null, alter column response drop not null;

-- +goose Down
alter table authorizations drop column record;
