-- What the earlier timing-based endpoints learned of a subject: samples of one phrase, sealed.
-- +goose Up
alter table subjects add column timing_template bytea;

-- +goose Down
alter table subjects drop column timing_template;
