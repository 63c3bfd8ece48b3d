// In place of modernc.org/sqlite, for devstack only (../../README.md).
module modernc.org/sqlite

go 1.26.0
