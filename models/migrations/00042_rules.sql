-- Rules of a policy can count the subject's recent decisions by action and outcome. The index has every column that such a count
-- reads, so that its cost is that of a range of the index, whatever else the subject did.
-- +goose Up
create index authorizations_tally on authorizations (tenant_id, environment_id, subject_uid, action_key, decision, decided_at);

-- +goose Down
drop index authorizations_tally;
