-- +goose Up

-- The calendar of an environment: zone, working hours of weekdays, and days without work. Without working hours there is none.
alter table environments add column working_zone text default '' not null;
alter table environments add column working_hours text[] default '{}' not null;
alter table environments add column holidays text[] default '{}' not null;

-- The times of the hold count working hours. Its steps and escalations have their times as instants, computed as each step opens.
alter table holds add column working_hours boolean default false not null;
