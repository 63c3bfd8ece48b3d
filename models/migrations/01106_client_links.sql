-- Links to challenges for clients: the page shows the request only to a browser in which the subject used a passkey.
-- +goose Up
alter table challenge_links
    add column for_client boolean not null default false,
    add column failures   integer not null default 0, -- refused attempts to open the link
    add column random     bytea, -- signed to open the link; replaced when it is opened
    add column opened     bytea; -- MAC of the secret of the browser that opened it last
