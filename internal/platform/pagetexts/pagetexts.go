// Package pagetexts has the texts of the hosted pages, a file for each language. It may not know what a page does with them:
// web/hosted checks and shows them.
package pagetexts

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed *.json
var files embed.FS

// Files returns the files. Each is named for a language tag (BCP 47), such as de.json.
func Files() fs.FS { return files }

// Languages returns the tags of the languages, in alphabetical order.
func Languages() []string {
	names, err := fs.Glob(files, "*.json")
	if err != nil {
		panic(err) // the pattern is well-formed
	}
	for i, name := range names {
		names[i] = strings.TrimSuffix(name, ".json")
	}
	return names
}
