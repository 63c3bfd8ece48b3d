-- The order of the log is that of the transactions that wrote it. Transaction ids are one server's: a database that is dumped
-- and restored elsewhere has entries from ahead of the new server's counter. shift is what is added to this server's ids, so
-- that the order goes on behind what was restored (countersign audit reanchor sets it, with the default of events.txid).
-- server is the server that the ids are of.
-- +goose Up
create table log_clock (
    single      boolean primary key default true check (single),
    shift       bigint not null default 0,
    server      text,
    anchored_at timestamptz
);
-- +goose StatementBegin
do $$
begin
    insert into log_clock (server) select system_identifier::text from pg_control_system();
exception when insufficient_privilege then
    insert into log_clock default values;
end $$;
-- +goose StatementEnd

-- +goose Down
drop table log_clock;
