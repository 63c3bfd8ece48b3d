-- An erasure knows whom it erases while it runs; what remains of it names nobody. Rows of a subject are found by index,
-- whatever their state.
-- +goose Up
alter table erasures add column subject_uid text, add column subject text;
create unique index erasures_running on erasures (subject_uid) where subject_uid is not null;
drop index proofs_open, passkeys_subject;
create index proofs_subject on proofs (subject_uid);
create index passkeys_subject on passkeys (subject_uid, created_at desc, id desc);
create index erasures_unfinished on erasures (requested_at) where status = 'erasing';
create index recoveries_open on recoveries (ready_at) where status in ('pending', 'cooling_down', 'ready');
create index research_vectors_age on research_vectors (created_at);

-- +goose Down
drop index research_vectors_age, recoveries_open, erasures_unfinished, passkeys_subject, proofs_subject, erasures_running;
create index passkeys_subject on passkeys (subject_uid) where revoked_at is null;
create index proofs_open on proofs (subject_uid) where status = 'active';
alter table erasures drop column subject_uid, drop column subject;
