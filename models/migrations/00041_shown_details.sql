-- The details of a request that a person is shown before approving it, sealed, one row for each decision of an action that shows
-- any. They have a retention of their own, and go with the decision.
-- +goose Up
create table shown_details (
    authorization_id text        primary key references authorizations (id) on delete cascade,
    tenant_id        text        not null,
    environment_id   text        not null,
    subject_uid      text        not null,
    details          bytea       not null,
    decided_at       timestamptz not null
);
create index shown_details_subject on shown_details (subject_uid);
create index shown_details_age on shown_details using brin (decided_at);

-- Details leave the service only to endpoints that ask for them.
alter table webhook_endpoints add column include_details boolean not null default false;

-- +goose Down
alter table webhook_endpoints drop column include_details;
drop table shown_details;
