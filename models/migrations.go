package models

import "embed"

// Migrations are the versioned SQL files, in order (goose). A file that has been released is never changed.
//
//go:embed migrations/*.sql
var Migrations embed.FS
