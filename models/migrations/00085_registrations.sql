-- The challenge of a passkey registration proves itself, so that several tabs can be open.
-- +goose Up
alter table person_invitations drop column ceremony;

-- +goose Down
alter table person_invitations add column ceremony jsonb;
