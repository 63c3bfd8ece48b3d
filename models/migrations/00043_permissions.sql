-- What a credential may do within its scope. Null is everything, which every credential before this column may do. A list never
-- grows, so that the client tokens and streams of a credential need not be checked again.
-- +goose Up
alter table credentials add column permissions text[] check (cardinality(permissions) > 0);

-- +goose Down
alter table credentials drop column permissions;
