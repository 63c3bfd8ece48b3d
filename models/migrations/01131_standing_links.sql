-- Links to the page on which a subject sees and revokes standing approvals.
-- +goose Up

create table standing_links (
    mac            bytea not null,
    id             text not null,
    tenant_id      text not null,
    environment_id text not null,
    subject_uid    text not null,
    credential_id  text not null,
    created_at     timestamptz not null,
    expires_at     timestamptz not null,
    failures       integer not null default 0,
    random         bytea not null,
    passkey_id     text,
    opened         bytea,
    primary key (mac, environment_id),
    constraint standing_links_subject_uid_fkey foreign key (subject_uid, environment_id) references subjects(uid, environment_id) on delete cascade
);
create index standing_links_subject on standing_links (environment_id, subject_uid);
create index standing_links_expires on standing_links (expires_at);
