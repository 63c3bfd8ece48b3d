-- Background models that were put in force, for the whole deployment: a background knows no tenant. The one embedded in
-- the binary stands where a modality has none here. Retired ones stay: templates learned with them are carried over.
-- +goose Up
create table backgrounds (
    version      text primary key,
    modality     text        not null check (modality in ('keystroke', 'pointer')),
    status       text        not null check (status in ('active', 'retired')),
    body         bytea       not null,
    digest       text        not null,
    comparison   jsonb       not null,
    activated_by text        not null,
    activated_at timestamptz not null,
    retired_at   timestamptz
);
create unique index backgrounds_one_active on backgrounds (modality) where status = 'active';
create index templates_by_model on templates (model_version, id) where status = 'active';

-- +goose Down
drop index templates_by_model;
drop table backgrounds;
