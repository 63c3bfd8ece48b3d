-- +goose Up
-- The oldest schema version that a binary may have been built for and still run on this database. Migrations expand, so
-- older binaries run on while newer ones come; the rare migration that contracts (drops, renames, narrows) raises the
-- floor to the version from which binaries no longer need what it takes away: update schema_floor set version = N.
create table schema_floor (
    version bigint not null,
    single  boolean primary key default true check (single)
);
insert into schema_floor (version) values (0);

-- +goose Down
drop table schema_floor;
