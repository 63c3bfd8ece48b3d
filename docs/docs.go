// Package docs embeds the guides of this folder, which the service shows under /docs.
package docs

import "embed"

// Files contains the guides.
//
//go:embed *.md
var Files embed.FS
