-- Research vectors are kept under pseudonyms that hold for one period. The salt of a period is destroyed when the period
-- ends; what a withdrawal or an erasure needs to find a subject's vectors is sealed, under a keyed hash of the subject.
-- +goose Up
create table research_periods (
    id             text primary key,
    environment_id text        not null references environments (id),
    salt           bytea, -- sealed; null once it is destroyed
    started_at     timestamptz not null,
    ended_at       timestamptz,
    check ((salt is null) = (ended_at is not null))
);
create unique index research_periods_current on research_periods (environment_id) where ended_at is null;

create table research_links (
    environment_id text  not null,
    holder         bytea not null,
    period_id      text  not null references research_periods (id) on delete cascade,
    pseudonym      bytea not null, -- sealed
    primary key (environment_id, holder, period_id)
);

alter table research_vectors add column period_id text;
create index research_vectors_period on research_vectors (period_id);
create index research_vectors_learning on research_vectors (pseudonym, id);

-- What has a time after which it goes is found by its age. These logs grow at their end, so a block range says enough.
create index authorizations_age on authorizations using brin (decided_at);
create index events_age on events using brin (at);
create index sessions_age on sessions (last_activity_at) where status <> 'active';
create index templates_age on templates (updated_at) where status <> 'active';

-- +goose Down
drop index templates_age, sessions_age, events_age, authorizations_age, research_vectors_period, research_vectors_learning;
alter table research_vectors drop column period_id;
drop table research_links, research_periods;
