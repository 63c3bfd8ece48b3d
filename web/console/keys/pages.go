// Package keys has the pages of API keys.
package keys

import (
	"embed"

	"github.com/countersign-dev/countersign/internal/account/identity"
	reads "github.com/countersign-dev/countersign/internal/delivery/consolequery"
	"github.com/countersign-dev/countersign/web/console/exports"
	"github.com/countersign-dev/countersign/web/console/shell"
)

//go:embed all:templates
var templates embed.FS

// Pages are the pages of API keys.
type Pages struct {
	*shell.Shell
	Credentials *identity.Service
	Reader      *reads.Reader
	ExportPages *exports.Pages
}

// Record declares the pages: their routes, templates and entry of the navigation.
func (c *Pages) Record() shell.Record {
	return shell.Record{
		Entry:     &shell.Entry{Group: "Integrate", Label: "API keys", Path: "keys", Key: "k", Right: shell.ReadConfig},
		Templates: templates,
		Lines: []shell.Line{
			shell.See("/:environment/export/keys", "export_keys", shell.ReadConfig, c.ExportPages.Handler(c.keysExport)),
			shell.See("/:environment/keys", "keys", shell.ReadConfig, c.keys),
			shell.See("/:environment/keys/new", "key_new", shell.ManageCredentials, c.newKey),
			shell.Confirmed("/:environment/keys/new", "key_issue", shell.ManageCredentials, c.issueKey),
			shell.Confirmed("/:environment/keys/:id/rotate", "key_rotate", shell.ManageCredentials, c.rotateKey),
			shell.Confirmed("/:environment/keys/:id/revoke", "key_revoke", shell.ManageCredentials, c.revokeKey),
		},
	}
}
