-- What recognises a frame or its typing when it comes again outlives the frame: the first 16 bytes of the digest of each
-- accepted frame that can be told from another person's, once in an environment, and the newest passages of typing of a subject on a class of device,
-- a block of them a row, sealed. Blocks are rewritten as they fill and stay within their page. Frames that enroll say how
-- many keys they hold, so that counting them reads no vector.
-- +goose Up
create table frame_digests (
    environment_id text        not null,
    digest         bytea       not null,
    subject_uid    text        not null references subjects (uid) on delete cascade,
    session_id     text        not null,
    seen_at        timestamptz not null,
    primary key (environment_id, digest)
);
create index frame_digests_subject on frame_digests (subject_uid);
create index frame_digests_age on frame_digests using brin (seen_at);

create table typed_passages (
    environment_id text        not null,
    subject_uid    text        not null references subjects (uid) on delete cascade,
    device_class   text        not null,
    block          integer     not null,
    passages       bytea       not null,
    updated_at     timestamptz not null,
    primary key (environment_id, subject_uid, device_class, block)
) with (fillfactor = 70);
alter table typed_passages alter column passages set storage external;

alter table frames add column keys integer;

-- Digests of frames too short to be told apart are in here too. They are never looked up.
insert into frame_digests (environment_id, digest, subject_uid, session_id, seen_at)
    select distinct on (environment_id, substr(digest, 1, 16)) environment_id, substr(digest, 1, 16), subject_uid, session_id, received_at
    from frames where status = 'accepted' and length(digest) > 0 order by environment_id, substr(digest, 1, 16), received_at;

-- +goose Down
alter table frames drop column keys;
drop table typed_passages, frame_digests;
