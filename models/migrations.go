package models

import "embed"

// Migrations are the versioned SQL files, in order (goose): the baseline of version 1.0 and what came after it. A file that has been
// released is never changed.
//
//go:embed migrations/*.sql
var Migrations embed.FS
