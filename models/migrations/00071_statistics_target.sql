-- ANALYZE samples fewer rows of the tables that grow with every decision (TestAnalyzeSamplesWhatIsSelected), in their
-- partitions too.
-- +goose Up
set lock_timeout = '5s';
-- +goose StatementBegin
do $$
declare
    c record;
begin
    for c in select a.attrelid::regclass as tbl, a.attname from pg_attribute a
        where a.attrelid in ('authorizations'::regclass, 'proofs'::regclass, 'events'::regclass, 'audit_chain'::regclass, 'webhook_attempts'::regclass)
            and a.attnum > 0 and not a.attisdropped and coalesce(a.attstattarget, -1) = -1
    loop
        execute format('alter table %s alter column %I set statistics 25', c.tbl, c.attname);
    end loop;
end $$;
-- +goose StatementEnd
reset lock_timeout;

-- +goose Down
-- +goose StatementBegin
do $$
declare
    c record;
begin
    for c in select a.attrelid::regclass as tbl, a.attname from pg_attribute a
        where a.attrelid in ('authorizations'::regclass, 'proofs'::regclass, 'events'::regclass, 'audit_chain'::regclass, 'webhook_attempts'::regclass)
            and a.attnum > 0 and not a.attisdropped and a.attstattarget = 25
    loop
        execute format('alter table %s alter column %I set statistics -1', c.tbl, c.attname);
    end loop;
end $$;
-- +goose StatementEnd
