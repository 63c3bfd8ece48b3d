-- +goose Up

-- Two occasions of one's own requests.
alter table notice_choices drop constraint notice_choices_kind_check;
alter table notice_choices add constraint notice_choices_kind_check check (kind in ('opened', 'due_soon', 'escalated', 'next_step', 'settled')) not valid;
