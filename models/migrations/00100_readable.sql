-- What a person reads in psql: every column of a decision, its proof, its events and its reviews is text, a number, a time, a list or
-- JSON; bytes are only what is sealed. The environment is part of every key of the tables that are placed by it (models/distribution.go).
-- +goose Up
-- The environment, everywhere.
drop trigger if exists idempotency_keys_environment on idempotency_keys;
alter table idempotency_keys alter column environment_id set not null;
drop trigger if exists challenge_links_environment on challenge_links;
alter table challenge_links alter column environment_id set not null;
drop trigger if exists hold_viewers_environment on hold_viewers;
alter table hold_viewers alter column environment_id set not null;
drop trigger if exists reviews_environment on reviews;
alter table reviews alter column environment_id set not null;
drop trigger if exists move_requests_environment on move_requests;
alter table move_requests alter column environment_id set not null;
drop trigger if exists webhook_deliveries_environment on webhook_deliveries;
alter table webhook_deliveries alter column environment_id set not null;
drop trigger if exists webhook_attempts_environment on webhook_attempts;
alter table webhook_attempts alter column environment_id set not null;
drop function fill_environment();
alter table sessions drop constraint sessions_subject_uid_fkey;
alter table frames drop constraint frames_session_id_fkey;
alter table frames drop constraint frames_subject_uid_fkey;
alter table frame_digests drop constraint frame_digests_subject_uid_fkey;
alter table typed_passages drop constraint typed_passages_subject_uid_fkey;
alter table enrollments drop constraint enrollments_subject_uid_fkey;
alter table templates drop constraint templates_subject_uid_fkey;
alter table passkeys drop constraint passkeys_subject_uid_fkey;
alter table recoveries drop constraint recoveries_subject_uid_fkey;
alter table registration_grants drop constraint registration_grants_subject_uid_fkey;
alter table client_tokens drop constraint client_tokens_subject_uid_fkey;
alter table background_shares drop constraint background_shares_subject_uid_fkey;
alter table research_consents drop constraint research_consents_subject_uid_fkey;
alter table challenges drop constraint challenges_authorization_id_fkey;
alter table challenge_links drop constraint challenge_links_challenge_id_fkey;
alter table holds drop constraint holds_authorization_id_fkey;
alter table hold_teams drop constraint hold_teams_authorization_id_fkey;
alter table hold_viewers drop constraint hold_viewers_authorization_id_fkey;
alter table reviews drop constraint reviews_authorization_id_fkey;
alter table review_notes drop constraint review_notes_authorization_id_fkey;
alter table move_requests drop constraint move_requests_authorization_id_fkey;
alter table notices drop constraint notices_authorization_id_fkey;
alter table kept_values drop constraint kept_values_authorization_id_fkey;
alter table shown_details drop constraint shown_details_authorization_id_fkey;
alter table webhook_attempts drop constraint webhook_attempts_delivery_id_fkey;
alter table proofs drop constraint proofs_authorization_id_fkey;
alter table subjects drop constraint subjects_pkey, add constraint subjects_pkey primary key (uid, environment_id);
alter table sessions drop constraint sessions_pkey, add constraint sessions_pkey primary key (id, environment_id);
alter table frames drop constraint frames_pkey, add constraint frames_pkey primary key (session_id, frame_id, environment_id);
alter table enrollments drop constraint enrollments_pkey, add constraint enrollments_pkey primary key (id, environment_id);
alter table templates drop constraint templates_pkey, add constraint templates_pkey primary key (id, environment_id);
alter table templates drop constraint templates_subject_uid_modality_device_class_version_key, add constraint templates_subject_uid_modality_device_class_version_key unique (subject_uid, modality, device_class, version, environment_id);
alter table passkeys drop constraint passkeys_pkey, add constraint passkeys_pkey primary key (id, environment_id);
alter table recoveries drop constraint recoveries_pkey, add constraint recoveries_pkey primary key (id, environment_id);
alter table registration_grants drop constraint registration_grants_pkey, add constraint registration_grants_pkey primary key (mac, environment_id);
alter table client_tokens drop constraint client_tokens_pkey, add constraint client_tokens_pkey primary key (mac, environment_id);
alter table background_shares drop constraint background_shares_pkey, add constraint background_shares_pkey primary key (subject_uid, modality, environment_id);
alter table research_consents drop constraint research_consents_pkey, add constraint research_consents_pkey primary key (id, environment_id);
alter table research_vectors drop constraint research_vectors_pkey, add constraint research_vectors_pkey primary key (id, environment_id);
alter table authorizations drop constraint authorizations_pkey, add constraint authorizations_pkey primary key (id, environment_id);
alter table idempotency_keys drop constraint idempotency_keys_pkey, add constraint idempotency_keys_pkey primary key (credential_id, key, environment_id);
alter table challenges drop constraint challenges_authorization_id_key, add constraint challenges_authorization_id_key unique (authorization_id, environment_id);
alter table challenges drop constraint challenges_pkey, add constraint challenges_pkey primary key (id, environment_id);
alter table challenge_links drop constraint challenge_links_pkey, add constraint challenge_links_pkey primary key (mac, environment_id);
alter table holds drop constraint holds_pkey, add constraint holds_pkey primary key (authorization_id, environment_id);
alter table hold_teams drop constraint hold_teams_pkey, add constraint hold_teams_pkey primary key (authorization_id, team, environment_id);
alter table hold_viewers drop constraint hold_viewers_pkey, add constraint hold_viewers_pkey primary key (authorization_id, viewer, environment_id);
alter table reviews drop constraint reviews_pkey, add constraint reviews_pkey primary key (authorization_id, reviewer, environment_id);
alter table review_notes drop constraint review_notes_pkey, add constraint review_notes_pkey primary key (authorization_id, reviewer, note_digest, environment_id);
alter table move_requests drop constraint move_requests_pkey, add constraint move_requests_pkey primary key (target, digest, environment_id);
alter table notices drop constraint notices_pkey, add constraint notices_pkey primary key (id, environment_id);
alter table proofs drop constraint proofs_authorization_id_key, add constraint proofs_authorization_id_key unique (authorization_id, environment_id);
alter table proofs drop constraint proofs_pkey, add constraint proofs_pkey primary key (jti, environment_id);
alter table kept_values drop constraint kept_values_pkey, add constraint kept_values_pkey primary key (authorization_id, environment_id);
alter table shown_details drop constraint shown_details_pkey, add constraint shown_details_pkey primary key (authorization_id, environment_id);
alter table events drop constraint events_pkey, add constraint events_pkey primary key (id, environment_id);
alter table webhook_deliveries drop constraint webhook_deliveries_endpoint_id_event_id_replay_key, add constraint webhook_deliveries_endpoint_id_event_id_replay_key unique (endpoint_id, event_id, replay, environment_id);
alter table webhook_deliveries drop constraint webhook_deliveries_pkey, add constraint webhook_deliveries_pkey primary key (id, environment_id);
alter table webhook_attempts drop constraint webhook_attempts_pkey, add constraint webhook_attempts_pkey primary key (id, environment_id);
alter table erasures drop constraint erasures_pkey, add constraint erasures_pkey primary key (id, environment_id);
alter table evaluations drop constraint evaluations_pkey, add constraint evaluations_pkey primary key (id, environment_id);
alter table changes drop constraint changes_pkey, add constraint changes_pkey primary key (id, environment_id);
drop index enrollments_one_pending;
create unique index enrollments_one_pending on enrollments (subject_uid, environment_id) where (status = 'pending'::text);
drop index templates_adapted_once;
create unique index templates_adapted_once on templates (origin_ref, modality, device_class, environment_id) where (origin = 'adaptation'::text);
drop index templates_one_active;
create unique index templates_one_active on templates (subject_uid, modality, device_class, environment_id) where (status = 'active'::text);
drop index recoveries_one_open;
create unique index recoveries_one_open on recoveries (subject_uid, environment_id) where (status = ANY (ARRAY['pending'::text, 'cooling_down'::text, 'ready'::text]));
drop index authorizations_child;
create unique index authorizations_child on authorizations (parent_id, environment_id) where (parent_id IS NOT NULL);
drop index audit_chain_event;
create unique index audit_chain_event on audit_chain (event_id, environment_id);
drop index erasures_running;
create unique index erasures_running on erasures (subject_uid, environment_id) where (subject_uid IS NOT NULL);
alter table sessions add constraint sessions_subject_uid_fkey foreign key (subject_uid, environment_id) references subjects (uid, environment_id) on delete cascade;
alter table frames add constraint frames_session_id_fkey foreign key (session_id, environment_id) references sessions (id, environment_id) on delete cascade;
alter table frames add constraint frames_subject_uid_fkey foreign key (subject_uid, environment_id) references subjects (uid, environment_id) on delete cascade;
alter table frame_digests add constraint frame_digests_subject_uid_fkey foreign key (subject_uid, environment_id) references subjects (uid, environment_id) on delete cascade;
alter table typed_passages add constraint typed_passages_subject_uid_fkey foreign key (subject_uid, environment_id) references subjects (uid, environment_id) on delete cascade;
alter table enrollments add constraint enrollments_subject_uid_fkey foreign key (subject_uid, environment_id) references subjects (uid, environment_id) on delete cascade;
alter table templates add constraint templates_subject_uid_fkey foreign key (subject_uid, environment_id) references subjects (uid, environment_id) on delete cascade;
alter table passkeys add constraint passkeys_subject_uid_fkey foreign key (subject_uid, environment_id) references subjects (uid, environment_id) on delete cascade;
alter table recoveries add constraint recoveries_subject_uid_fkey foreign key (subject_uid, environment_id) references subjects (uid, environment_id) on delete cascade;
alter table registration_grants add constraint registration_grants_subject_uid_fkey foreign key (subject_uid, environment_id) references subjects (uid, environment_id) on delete cascade;
alter table client_tokens add constraint client_tokens_subject_uid_fkey foreign key (subject_uid, environment_id) references subjects (uid, environment_id) on delete cascade;
alter table background_shares add constraint background_shares_subject_uid_fkey foreign key (subject_uid, environment_id) references subjects (uid, environment_id);
alter table research_consents add constraint research_consents_subject_uid_fkey foreign key (subject_uid, environment_id) references subjects (uid, environment_id) on delete cascade;
alter table challenges add constraint challenges_authorization_id_fkey foreign key (authorization_id, environment_id) references authorizations (id, environment_id) on delete cascade;
alter table challenge_links add constraint challenge_links_challenge_id_fkey foreign key (challenge_id, environment_id) references challenges (id, environment_id) on delete cascade;
alter table holds add constraint holds_authorization_id_fkey foreign key (authorization_id, environment_id) references authorizations (id, environment_id) on delete cascade;
alter table hold_teams add constraint hold_teams_authorization_id_fkey foreign key (authorization_id, environment_id) references holds (authorization_id, environment_id) on delete cascade;
alter table hold_viewers add constraint hold_viewers_authorization_id_fkey foreign key (authorization_id, environment_id) references holds (authorization_id, environment_id) on delete cascade;
alter table reviews add constraint reviews_authorization_id_fkey foreign key (authorization_id, environment_id) references holds (authorization_id, environment_id) on delete cascade;
alter table review_notes add constraint review_notes_authorization_id_fkey foreign key (authorization_id, environment_id) references holds (authorization_id, environment_id) on delete cascade;
alter table move_requests add constraint move_requests_authorization_id_fkey foreign key (authorization_id, environment_id) references authorizations (id, environment_id) on delete cascade;
alter table notices add constraint notices_authorization_id_fkey foreign key (authorization_id, environment_id) references holds (authorization_id, environment_id) on delete cascade;
alter table kept_values add constraint kept_values_authorization_id_fkey foreign key (authorization_id, environment_id) references authorizations (id, environment_id) on delete cascade;
alter table shown_details add constraint shown_details_authorization_id_fkey foreign key (authorization_id, environment_id) references authorizations (id, environment_id) on delete cascade;
alter table webhook_attempts add constraint webhook_attempts_delivery_id_fkey foreign key (delivery_id, environment_id) references webhook_deliveries (id, environment_id) on delete cascade;
alter table proofs add constraint proofs_authorization_id_fkey foreign key (authorization_id, environment_id) references authorizations (id, environment_id) on delete cascade;

-- Indexes of lists, tallies and turns.
drop index if exists authorizations_tally, proofs_subject, webhook_deliveries_due, events_order, events_subject;
create index authorizations_counts on authorizations (environment_id, subject_uid, action_key, decision, decided_at);
create index authorizations_seldom on authorizations (environment_id, action_id, mode, decision, decided_at, id) where mode <> 'enforce';
create index webhook_deliveries_turn on webhook_deliveries (environment_id, endpoint_id, next_attempt_at, event_id) where status = 'pending';
create index events_subject on events (environment_id, subject_uid, seq) where subject_uid is not null;

-- Decisions. What is returned byte for byte as it was is text: jsonb would change the order of its keys.
alter table authorizations drop column record, drop column digests,
    alter column resource_digest set not null, alter column context_digest set not null,
    alter column action_hash set not null, alter column policy_hash set not null,
    alter column assurance set not null, alter column explanation set not null,
    alter column response type text using convert_from(response, 'UTF8'), alter column response set not null,
    alter column request_hash type text using encode(request_hash, 'hex');
alter table proofs drop column compact, alter column sealed set not null;
alter table reviews alter column receipt type text using convert_from(receipt, 'UTF8');

-- Events. Their order is that of the sealed chain.
alter table events drop column packed, drop column txid,
    alter column salt type text using encode(salt, 'hex'), alter column digest type text using encode(digest, 'hex');
alter table audit_heads drop column txid, drop column event_seq;

-- A session and a block of passages have a version, by which a frame that was scored on an earlier one is refused.
alter table sessions add column version bigint not null default 0;
alter table typed_passages add column version bigint not null default 0;

-- A table that is not logged cannot be moved to another server.
alter table hold_viewers set logged;

drop table decision_division, decision_keys, log_clock, schema_floor;

-- Postgres compresses: lz4 if the server has it.
-- +goose StatementBegin
do $$
begin
    alter table authorizations alter column assurance set compression lz4, alter column explanation set compression lz4,
        alter column response set compression lz4;
    alter table events alter column data set compression lz4;
exception when feature_not_supported then
    raise notice 'the server has no lz4';
end $$;
-- +goose StatementEnd

-- +goose Down
-- There is no way back to the packed form.
select 1;
