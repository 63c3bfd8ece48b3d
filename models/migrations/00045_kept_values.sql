-- Values of a request that an action keeps for simulations of its policy, sealed, one row for each decision of an action that
-- keeps any. They have a retention of their own, and go with the decision.
-- +goose Up
create table kept_values (
    authorization_id text        primary key references authorizations (id) on delete cascade,
    tenant_id        text        not null,
    environment_id   text        not null,
    subject_uid      text        not null,
    kept             bytea       not null,
    decided_at       timestamptz not null
);
create index kept_values_subject on kept_values (subject_uid);
create index kept_values_age on kept_values using brin (decided_at);

-- +goose Down
drop table kept_values;
