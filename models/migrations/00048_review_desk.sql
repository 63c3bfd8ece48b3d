-- The reviewer who has taken a hold, so that others leave it alone. It limits no one: any reviewer may still review.
-- +goose Up
alter table holds
    add column assigned_to text,
    add column assigned_at timestamptz;

-- +goose Down
alter table holds
    drop column assigned_to,
    drop column assigned_at;
