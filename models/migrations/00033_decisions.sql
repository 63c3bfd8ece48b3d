-- What a decision rests on, kept with it, and what makes an approval one person's.
-- +goose Up
-- Whether the request named the session: the decisions that follow from it are made on the same one.
alter table authorizations add column session_pinned boolean not null default false;
-- Who stands behind the reviewer: the person, or the credential at the root of the chain of issue. Null on rows of before.
alter table reviews add column principal text;
alter table environments add column bar_self_review boolean not null default false;
-- The proof as it was issued, sealed. authorizations.response and reviews.receipt no longer hold it.
alter table proofs add column sealed bytea;
alter table proofs alter column sealed set storage external;
-- The passkey ceremony under way that confirms a session of the console. A newer one takes its place; success ends it.
alter table console_sessions add column confirming bytea;

-- +goose Down
alter table console_sessions drop column confirming;
alter table proofs drop column sealed;
alter table environments drop column bar_self_review;
alter table reviews drop column principal;
alter table authorizations drop column session_pinned;
