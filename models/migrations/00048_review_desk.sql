-- What reviewers work with: the reviewer who has taken a hold, the link of a decision into the customer's case system, and, if the
-- environment stores them, the notes of reviews.
-- +goose Up
alter table holds
    add column assigned_to text,
    add column assigned_at timestamptz;

alter table environments
    add column review_notes boolean not null default false,
    add column case_link    text    not null default '';

-- The note of a review, sealed. It is written before the workflow makes the review, and read only if the
-- digest is that of the review. It has a retention of its own, and goes with the hold.
create table review_notes (
    authorization_id text        not null references holds (authorization_id) on delete cascade,
    reviewer         text        not null,
    tenant_id        text        not null,
    environment_id   text        not null,
    subject_uid      text        not null,
    note_digest      text        not null,
    note             bytea       not null,
    written_at       timestamptz not null,
    primary key (authorization_id, reviewer, note_digest)
);
create index review_notes_subject on review_notes (subject_uid);
create index review_notes_age on review_notes using brin (written_at);

-- Reviewers who have a hold open, so that colleagues see it. A row is old after a minute and removed within the hour; nothing is
-- lost with the table, so it is not logged.
create unlogged table hold_viewers (
    authorization_id text        not null references holds (authorization_id) on delete cascade,
    viewer           text        not null,
    seen_at          timestamptz not null,
    primary key (authorization_id, viewer)
);
create index hold_viewers_age on hold_viewers (seen_at);

-- +goose Down
drop table hold_viewers;
drop table review_notes;
alter table environments
    drop column review_notes,
    drop column case_link;
alter table holds
    drop column assigned_to,
    drop column assigned_at;
