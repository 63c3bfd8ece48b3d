-- The name and the consequence of an action in other languages.
-- +goose Up
alter table actions add column labels jsonb;
