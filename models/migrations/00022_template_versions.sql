-- Where a version of a template comes from. A session adapts a template once, however often the step is repeated.
-- +goose Up
alter table templates
    add column origin     text not null default 'enrollment' check (origin in ('enrollment', 'adaptation', 'retraining')),
    add column origin_ref text not null default '';
create unique index templates_adapted_once on templates (origin_ref, modality, device_class) where origin = 'adaptation';

-- +goose Down
drop index templates_adapted_once;
alter table templates drop column origin_ref, drop column origin;
