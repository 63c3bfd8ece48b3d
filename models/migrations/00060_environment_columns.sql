-- The environment of a row in the tables that had it only through another row, so that environment can be part of every key
-- (countersign migrate --contract makes the keys). Until then binaries of the previous version run, which do not write the column: a
-- trigger fills it for them, and is dropped with the contraction. Rows that exist are filled in batches, each committed by itself.
-- +goose NO TRANSACTION
-- +goose Up
set statement_timeout = 0;
set lock_timeout = '5s';
-- +goose StatementBegin
create or replace function fill_environment() returns trigger language plpgsql as $$
begin
    execute format('select environment_id from %I where %I = $1', tg_argv[0], tg_argv[1])
        into new.environment_id using to_jsonb(new) ->> tg_argv[2];
    return new;
end $$;
-- +goose StatementEnd
-- +goose StatementBegin
do $$
declare
    -- table, its parent, the parent's key, the column that refers to it
    t text[];
    -- pages in one batch
    step constant bigint := 500;
    page bigint;
    n bigint;
    filled bigint;
begin
    foreach t slice 1 in array array[
        ['challenge_links', 'challenges', 'id', 'challenge_id'],
        ['hold_viewers', 'holds', 'authorization_id', 'authorization_id'],
        ['reviews', 'holds', 'authorization_id', 'authorization_id'],
        ['move_requests', 'authorizations', 'id', 'authorization_id'],
        ['webhook_deliveries', 'webhook_endpoints', 'id', 'endpoint_id'],
        ['webhook_attempts', 'webhook_endpoints', 'id', 'endpoint_id'],
        ['idempotency_keys', 'credentials', 'id', 'credential_id']] loop
        execute format('alter table %I add column if not exists environment_id text', t[1]);
        execute format('create or replace trigger %I before insert on %I for each row when (new.environment_id is null)
            execute function fill_environment(%L, %L, %L)', t[1] || '_environment', t[1], t[2], t[3], t[4]);
        commit;
        -- A row that is updated meanwhile may move to a page that was read already: the table is read until nothing is left.
        loop
            filled := 0;
            page := 0;
            while page * current_setting('block_size')::bigint < pg_relation_size(t[1]::regclass) loop
                execute format('update %1$I c set environment_id = p.environment_id from %2$I p
                    where p.%3$I = c.%4$I and c.environment_id is null and c.ctid >= %5$L::tid and c.ctid < %6$L::tid',
                    t[1], t[2], t[3], t[4], format('(%s,0)', page), format('(%s,0)', page + step));
                get diagnostics n = row_count;
                filled := filled + n;
                page := page + step;
                commit;
            end loop;
            exit when filled = 0;
        end loop;
    end loop;
end $$;
-- +goose StatementEnd
reset lock_timeout;
reset statement_timeout;

-- +goose Down
drop function if exists fill_environment() cascade;
alter table challenge_links drop column environment_id;
alter table hold_viewers drop column environment_id;
alter table reviews drop column environment_id;
alter table move_requests drop column environment_id;
alter table webhook_deliveries drop column environment_id;
alter table webhook_attempts drop column environment_id;
alter table idempotency_keys drop column environment_id;
