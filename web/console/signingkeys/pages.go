// Package signingkeys has the page of the keys that sign the proofs of an environment.
package signingkeys

import (
	"embed"

	"github.com/countersign-dev/countersign/internal/authz/signing"
	"github.com/countersign-dev/countersign/web/console/shell"
)

//go:embed all:templates
var templates embed.FS

// Pages is the page of signing keys.
type Pages struct {
	*shell.Shell
	Signing *signing.Service
}

// Record declares the page: its routes, template and entry of the navigation.
func (c *Pages) Record() shell.Record {
	return shell.Record{
		Entry:     &shell.Entry{Group: "Integrate", Label: "Signing keys", Path: "signing-keys", Key: "y", Right: shell.ReadConfig},
		Templates: templates,
		Lines: []shell.Line{
			shell.See("/:environment/signing-keys", "signing_keys", shell.ReadConfig, c.keys),
			shell.Confirmed("/:environment/signing-keys/rotate", "signing_keys_rotate", shell.ManageCredentials, c.rotate),
		},
	}
}
