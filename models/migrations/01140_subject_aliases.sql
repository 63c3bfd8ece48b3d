-- The names by which an identity provider's security events know a subject, as keyed digests.
-- +goose Up
create table subject_aliases (
    environment_id text not null,
    tenant_id      text not null,
    subject_uid    text not null,
    mac            bytea not null,
    format         text not null check (format in ('iss_sub', 'opaque', 'email')),
    created_at     timestamptz not null,
    primary key (mac, environment_id),
    constraint subject_aliases_subject_uid_fkey foreign key (subject_uid, environment_id) references subjects(uid, environment_id) on delete cascade
);
create index subject_aliases_subject on subject_aliases (environment_id, subject_uid);
