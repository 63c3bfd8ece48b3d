-- +goose Up

-- A statement that fails, and with it the transaction, unless a condition holds (internal/platform/pg, Changed). What is unknown does not hold.
-- +goose StatementBegin
create function guard(holds boolean) returns boolean language plpgsql as $$
begin
    if holds then
        return true;
    end if;
    raise exception 'what the transaction rests on has changed' using errcode = 'CS001';
end $$;
-- +goose StatementEnd
