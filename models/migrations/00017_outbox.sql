-- Rows never tried, which are due at once whatever the clock of their writer said. A backlog that waits for another try
-- is not among them.
-- +goose Up
create index outbox_untried on outbox (available_at) where attempts = 0;

-- +goose Down
drop index outbox_untried;
