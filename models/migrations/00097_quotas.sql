-- Quotas refill continuously. A row says when the bucket is full again, which is all that its state consists of: the longer until
-- then, the more of it is used. nearly_used_at is when it was last nearly used up, until most of it is free again.
-- The bucket of an environment begins with its id and a slash.
-- +goose Up
drop table rate_windows;
create table quotas (
    bucket         text        collate "C" primary key,
    full_at        timestamptz not null,
    nearly_used_at timestamptz
);
-- Requests an hour of all server keys together; null is the limit of the largest key.
alter table environments add column rate_limit integer check (rate_limit > 0);

-- +goose Down
alter table environments drop column rate_limit;
drop table quotas;
create table rate_windows (
    bucket       text        not null,
    window_start timestamptz not null,
    used         integer     not null,
    primary key (bucket, window_start)
);
