// In place of google.golang.org/api, for devstack only (../../README.md).
module google.golang.org/api

go 1.26.0
