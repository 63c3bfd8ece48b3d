package forms

import "embed"

// Templates are the files of forms.
//
//go:embed all:templates
var Templates embed.FS
