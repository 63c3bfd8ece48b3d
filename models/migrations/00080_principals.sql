-- Who a credential counts as, and what its authority rests on. The principal is computed when a credential is issued: every count of people
-- reads this column. issuers are the credentials above it, the first one first and the one that issued it last; the authority ends with
-- the first of them that ends. former_principal is set for a credential that was given to an issuer of a different principal. lapses_at is set
-- for credentials of staff whom an identity provider signs in, and moves on with each sign-in. ends_at is the earlier end.
-- +goose Up
alter table credentials
    add column principal text not null default '',
    add column issuers text[] not null default '{}',
    add column former_principal text,
    add column lapses_at timestamptz,
    add column ends_at timestamptz generated always as (least(expires_at, lapses_at)) stored;

with recursive chain as (
    select id, environment_id, '{}'::text[] as issuers, case when created_by like 'person:%' then created_by else 'credential:' || id end as principal
        from credentials where created_by not like 'credential:%'
    union all
    select c.id, c.environment_id, chain.issuers || chain.id, chain.principal
        from chain join credentials c on c.created_by = 'credential:' || chain.id and c.environment_id = chain.environment_id)
update credentials c set issuers = chain.issuers, principal = chain.principal from chain where chain.id = c.id;
update credentials set principal = 'credential:' || id where principal = '';

create index credentials_principal on credentials (principal);

alter table people add column signed_in_at timestamptz;

-- +goose Down
alter table people drop column signed_in_at;
drop index credentials_principal;
alter table credentials drop column ends_at;
alter table credentials drop column lapses_at, drop column former_principal, drop column issuers, drop column principal;
