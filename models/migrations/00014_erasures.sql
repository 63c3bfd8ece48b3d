-- An erasure knows whom it erases while it runs; what remains of it names nobody.
-- +goose Up
alter table erasures add column subject_uid text, add column subject text;
create unique index erasures_running on erasures (subject_uid) where subject_uid is not null;
create index proofs_subject on proofs (subject_uid);
create index research_vectors_age on research_vectors (created_at);

-- +goose Down
drop index research_vectors_age, proofs_subject, erasures_running;
alter table erasures drop column subject_uid, drop column subject;
