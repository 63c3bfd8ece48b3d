-- Follow-up decisions that an evaluation of the Authorization API has returned: each is returned once.
-- +goose Up
create table collected_decisions (
    authorization_id text not null,
    tenant_id        text not null,
    environment_id   text not null,
    collected_at     timestamptz not null,
    primary key (authorization_id, environment_id),
    constraint collected_decisions_authorization_id_fkey foreign key (authorization_id, environment_id) references authorizations(id, environment_id) on delete cascade
);
