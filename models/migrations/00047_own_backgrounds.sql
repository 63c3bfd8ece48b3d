-- The background that an environment learns from the people who enroll in it. Sums are over all of its counted people and sealed; of a
-- single person only a digest is stored, by which the share is recognised when it is computed again to be subtracted.
-- +goose Up
alter table environments add column background text not null default 'prior' check (background in ('prior', 'own', 'shared'));

create table background_sums (
    environment_id text        not null references environments (id),
    tenant_id      text        not null references tenants (id),
    modality       text        not null check (modality in ('keystroke', 'pointer')),
    people         integer     not null check (people >= 0),
    -- How often a share was added or subtracted, ever.
    changes        bigint      not null,
    sums           bytea       not null,
    updated_at     timestamptz not null,
    primary key (environment_id, modality)
);

create table background_shares (
    subject_uid    text        not null references subjects (uid),
    modality       text        not null check (modality in ('keystroke', 'pointer')),
    environment_id text        not null references environments (id),
    tenant_id      text        not null references tenants (id),
    -- Null if the template has too few sessions to count.
    digest         bytea,
    counted_at     timestamptz not null,
    primary key (subject_uid, modality)
);
create index background_shares_by_environment on background_shares (environment_id, modality);

create table environment_backgrounds (
    version        text primary key,
    environment_id text        not null references environments (id),
    tenant_id      text        not null references tenants (id),
    modality       text        not null check (modality in ('keystroke', 'pointer')),
    number         integer     not null,
    status         text        not null check (status in ('candidate', 'active', 'retired', 'refused')),
    source         text        not null check (source in ('own', 'shared')),
    people         integer     not null,
    changes        bigint      not null,
    body           bytea       not null,
    comparison     jsonb       not null,
    made_at        timestamptz not null,
    activated_at   timestamptz,
    retired_at     timestamptz,
    unique (environment_id, modality, number)
);
create unique index environment_backgrounds_one_active on environment_backgrounds (environment_id, modality) where status = 'active';
create index templates_by_environment on templates (environment_id, modality, model_version) where status = 'active';

-- +goose Down
drop index templates_by_environment;
drop table environment_backgrounds;
drop table background_shares;
drop table background_sums;
alter table environments drop column background;
