-- ANALYZE does not sample columns by which no statement selects, joins or sorts (TestAnalyzeSamplesWhatIsSelected).
-- +goose Up
set lock_timeout = '5s';
alter table authorizations
    alter column credential_id set statistics 0,
    alter column actor set statistics 0,
    alter column resource_type set statistics 0,
    alter column resource_digest set statistics 0,
    alter column context_digest set statistics 0,
    alter column action_hash set statistics 0,
    alter column audience set statistics 0,
    alter column request_hash set statistics 0,
    alter column latency_ms set statistics 0,
    alter column trace_id set statistics 0,
    alter column reason_codes set statistics 0,
    alter column policy_hash set statistics 0,
    alter column insufficient set statistics 0,
    alter column operator_changed set statistics 0,
    alter column challenges_used set statistics 0,
    alter column challenge_completed set statistics 0,
    alter column hold_approved set statistics 0,
    alter column assurance set statistics 0,
    alter column explanation set statistics 0,
    alter column response set statistics 0,
    alter column outcome_note_digest set statistics 0,
    alter column session_pinned set statistics 0,
    alter column record set statistics 0,
    alter column digests set statistics 0;
alter table proofs
    alter column audience set statistics 0,
    alter column compact set statistics 0,
    alter column consumed_by set statistics 0,
    alter column revoked_reason set statistics 0,
    alter column sealed set statistics 0;
alter table events
    alter column request_id set statistics 0,
    alter column workflow_id set statistics 0,
    alter column data set statistics 0,
    alter column salt set statistics 0,
    alter column digest set statistics 0,
    alter column packed set statistics 0;
alter table audit_chain
    alter column previous set statistics 0,
    alter column hash set statistics 0;
alter table webhook_attempts
    alter column status_code set statistics 0,
    alter column latency_ms set statistics 0,
    alter column response_digest set statistics 0,
    alter column error set statistics 0;
reset lock_timeout;

-- +goose Down
alter table authorizations
    alter column credential_id set statistics -1,
    alter column actor set statistics -1,
    alter column resource_type set statistics -1,
    alter column resource_digest set statistics -1,
    alter column context_digest set statistics -1,
    alter column action_hash set statistics -1,
    alter column audience set statistics -1,
    alter column request_hash set statistics -1,
    alter column latency_ms set statistics -1,
    alter column trace_id set statistics -1,
    alter column reason_codes set statistics -1,
    alter column policy_hash set statistics -1,
    alter column insufficient set statistics -1,
    alter column operator_changed set statistics -1,
    alter column challenges_used set statistics -1,
    alter column challenge_completed set statistics -1,
    alter column hold_approved set statistics -1,
    alter column assurance set statistics -1,
    alter column explanation set statistics -1,
    alter column response set statistics -1,
    alter column outcome_note_digest set statistics -1,
    alter column session_pinned set statistics -1,
    alter column record set statistics -1,
    alter column digests set statistics -1;
alter table proofs
    alter column audience set statistics -1,
    alter column compact set statistics -1,
    alter column consumed_by set statistics -1,
    alter column revoked_reason set statistics -1,
    alter column sealed set statistics -1;
alter table events
    alter column request_id set statistics -1,
    alter column workflow_id set statistics -1,
    alter column data set statistics -1,
    alter column salt set statistics -1,
    alter column digest set statistics -1,
    alter column packed set statistics -1;
alter table audit_chain
    alter column previous set statistics -1,
    alter column hash set statistics -1;
alter table webhook_attempts
    alter column status_code set statistics -1,
    alter column latency_ms set statistics -1,
    alter column response_digest set statistics -1,
    alter column error set statistics -1;
