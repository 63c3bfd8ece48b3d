-- States that rows have left and that never come again, such as a session that was open and a proof that was active: a row that is put back as it was is refused.
-- +goose Up
create table endings (
    environment_id text not null,
    tenant_id      text not null,
    record         text not null,
    state          text not null,
    ended_at       timestamptz not null,
    useless_at     timestamptz,
    row_mac        bytea not null,
    primary key (environment_id, record, state)
);
create index endings_useless_at on endings using brin (useless_at);

create table tenant_endings (
    tenant_id  text not null,
    record     text not null,
    state      text not null,
    ended_at   timestamptz not null,
    useless_at timestamptz,
    row_mac    bytea not null,
    primary key (record, state)
);
