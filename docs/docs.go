// Package docs embeds the guides of this folder, which the service shows under /docs.
package docs

import "embed"

// Files contains the guides and their drawings.
//
//go:embed *.md accuracy/*.md accuracy/*.svg
var Files embed.FS
