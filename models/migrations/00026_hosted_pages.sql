-- +goose Up
-- Where an environment's hosted pages live, where they may send people back to, and who may show them in a frame.
alter table environments
    add column page_origin text,
    add column return_origins text[] not null default '{}',
    add column frame_ancestors text[] not null default '{}';

-- Where the person goes on when the challenge is over.
alter table challenge_links add column return_url text;

-- +goose Down
alter table challenge_links drop column return_url;
alter table environments drop column page_origin, drop column return_origins, drop column frame_ancestors;
