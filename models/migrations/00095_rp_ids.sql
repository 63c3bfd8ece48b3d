-- An RP ID belongs to one tenant, to which the operator gives it. Localhost belongs to none.
-- +goose Up
create table rp_ids (
  rp_id     text primary key,
  tenant_id text not null references tenants (id)
);
create index rp_ids_tenant on rp_ids (tenant_id);

-- +goose Down
drop table rp_ids;
