-- The most requests an hour that an environment's admins may give a key of theirs. Null is the default of the environment's kind.
-- Only the operator sets it: a customer could raise its own quota otherwise.
-- +goose Up
alter table environments add column rate_limit_ceiling integer check (rate_limit_ceiling > 0);

-- +goose Down
alter table environments drop column rate_limit_ceiling;
