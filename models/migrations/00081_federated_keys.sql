-- After how many days without a sign-in the API keys of staff lapse whom an identity provider signs in: their groups are read at a sign-in only.
-- 0 is never.
-- +goose Up
alter table environments add column federated_key_days integer not null default 0 check (federated_key_days between 0 and 3650);
update environments set federated_key_days = 90 where kind = 'live';

-- +goose Down
alter table environments drop column federated_key_days;
