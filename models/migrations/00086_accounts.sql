-- Accounts are not people. confirmed_at is since when an account is known to be of a person of its own: an identity provider or a mailed
-- invitation says so at once, otherwise a second operator does. shown_to are the actors to whom a link was shown that registered a passkey
-- of the account. principal is whom the account counts as; null for itself.
-- +goose Up
alter table people add column confirmed_at timestamptz, add column confirmed_by text,
    add column shown_to text[] not null default '{}', add column principal text;
create index people_principal on people (tenant_id, principal) where principal is not null;

-- +goose Down
drop index people_principal;
alter table people drop column confirmed_at, drop column confirmed_by, drop column shown_to, drop column principal;
