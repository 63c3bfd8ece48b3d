-- The look of an environment's hosted pages: name, logo (PNG), accent colour and default language. One row for each environment that
-- has set any; apart from environments, whose rows are read with every decision.
-- +goose Up
create table environment_brands (
    environment_id text        primary key references environments (id) on delete cascade,
    tenant_id      text        not null,
    name           text        not null default '',
    accent         text        not null default '',
    language       text        not null default '',
    logo           bytea
);

-- +goose Down
drop table environment_brands;
