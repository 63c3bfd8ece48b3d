-- Of a proof only its signature is stored, and of a decision's digests their bytes (models/record.go): the columns that had the digests stay
-- for the rows that exist and are null in new ones. Binaries of the previous version read neither form, so that both are written only
-- once countersign migrate --contract was run.
-- +goose Up
alter table authorizations alter column resource_digest drop not null, alter column context_digest drop not null,
    alter column action_hash drop not null, alter column policy_hash drop not null;

-- +goose Down
update authorizations set resource_digest = coalesce(resource_digest, ''), context_digest = coalesce(context_digest, ''),
    action_hash = coalesce(action_hash, ''), policy_hash = coalesce(policy_hash, '');
alter table authorizations alter column resource_digest set not null, alter column context_digest set not null,
    alter column action_hash set not null, alter column policy_hash set not null;
