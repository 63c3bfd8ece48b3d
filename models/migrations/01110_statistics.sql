-- An environment belongs to one tenant and a subject to one environment. Without knowing it the planner expects so few rows of an environment
-- that it reads and sorts a large table instead of reading an index in order.
-- +goose NO TRANSACTION
-- +goose Up
set statement_timeout = 0;
create statistics if not exists aggregate_values_placed (dependencies) on tenant_id, environment_id, subject_uid from aggregate_values;
create statistics if not exists authorizations_placed (dependencies) on tenant_id, environment_id, subject_uid from authorizations;
create statistics if not exists challenges_placed (dependencies) on tenant_id, environment_id, subject_uid from challenges;
create statistics if not exists enrollments_placed (dependencies) on tenant_id, environment_id, subject_uid from enrollments;
create statistics if not exists events_placed (dependencies) on tenant_id, environment_id, subject_uid from events;
create statistics if not exists holds_placed (dependencies) on tenant_id, environment_id, subject_uid from holds;
create statistics if not exists kept_values_placed (dependencies) on tenant_id, environment_id, subject_uid from kept_values;
create statistics if not exists list_entries_placed (dependencies) on tenant_id, environment_id from list_entries;
create statistics if not exists passkeys_placed (dependencies) on tenant_id, environment_id, subject_uid from passkeys;
create statistics if not exists proofs_placed (dependencies) on tenant_id, environment_id, subject_uid from proofs;
create statistics if not exists sessions_placed (dependencies) on tenant_id, environment_id, subject_uid from sessions;
create statistics if not exists shown_details_placed (dependencies) on tenant_id, environment_id, subject_uid from shown_details;
create statistics if not exists subjects_placed (dependencies) on tenant_id, environment_id from subjects;
create statistics if not exists templates_placed (dependencies) on tenant_id, environment_id, subject_uid from templates;
analyze aggregate_values, authorizations, challenges, enrollments, events, holds, kept_values, list_entries, passkeys, proofs, sessions, shown_details, subjects, templates;

-- A page of a subject's decisions is read in order. Nothing reads by the index that it replaces.
drop index concurrently if exists authorizations_subject_time;
create index concurrently authorizations_subject_time on authorizations (environment_id, subject_uid, decided_at, id);
drop index concurrently if exists authorizations_subject;
reset statement_timeout;
