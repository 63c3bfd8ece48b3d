-- The console's search for subjects by the beginning of their ids, and the filters that reviewers save.
-- +goose Up
create index subjects_prefix on subjects (environment_id, external_id text_pattern_ops);

-- A filter of one of the console's lists, saved by a person for themselves. The query contains no text of a search, which may
-- name a subject. It goes with the person, and when their access is revoked.
create table saved_filters (
    id             text        primary key,
    tenant_id      text        not null,
    environment_id text        not null references environments (id) on delete cascade,
    person_id      text        not null references people (id) on delete cascade,
    list           text        not null check (list in ('reviews', 'decisions')),
    name           text        not null,
    query          text        not null,
    created_at     timestamptz not null,
    unique (person_id, environment_id, list, name)
);

-- +goose Down
drop table saved_filters;
drop index subjects_prefix;
