-- The order of the log is the order in which its events are sealed: the number of a link in the environment's chain. An event whose
-- transaction ends late is sealed late, so that no transaction id is needed. events.cause is the first event of the transaction.
-- top, settled and late say how far an environment was sealed, by number of event (internal/platform/audit). Binaries of the previous
-- version ignore them and seal beside this one: only the lock of the head decides between the two.
-- +goose NO TRANSACTION
-- +goose Up
set statement_timeout = 0;
set lock_timeout = '5s';
alter table events add column if not exists cause text;
alter table audit_heads add column if not exists top bigint not null default 0, add column if not exists settled bigint not null default 0,
    add column if not exists late bigint not null default 0, add column if not exists marks jsonb not null default '[]';
reset lock_timeout;
drop index concurrently if exists events_number;
create index concurrently events_number on events (environment_id, seq);
drop index concurrently if exists events_cause;
create index concurrently events_cause on events (cause, environment_id) where cause is not null;
-- What is numbered below the newest 1,000 links and below everything that waits was sealed long ago: sealing begins behind it.
update audit_heads h set settled = n.below, late = n.below from (
    select k.environment_id, least(
        (select min(v.seq) from audit_chain c join events v on v.id = c.event_id and v.environment_id = c.environment_id
            where c.environment_id = k.environment_id and c.seq > k.seq - 1000),
        (select min(v.seq) from events v where v.environment_id = k.environment_id and (v.txid, v.seq) > (k.txid, k.event_seq))) - 1 as below
    from audit_heads k) n
    where n.environment_id = h.environment_id and n.below is not null and h.late = 0;
reset statement_timeout;

-- +goose Down
drop index if exists events_cause;
drop index if exists events_number;
alter table audit_heads drop column top, drop column settled, drop column late, drop column marks;
alter table events drop column cause;
