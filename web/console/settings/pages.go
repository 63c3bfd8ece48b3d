// Package settings has the pages of settings of the environment.
package settings

import (
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/web/console/shell"
)

// Pages are the pages of settings.
type Pages struct {
	*shell.Shell
	Changes *change.Service
	Tenancy *tenancy.Service
}

// Record declares the pages: their routes, templates and entry of the navigation.
func (c *Pages) Record() shell.Record {
	return shell.Record{
		Entry: &shell.Entry{Group: "Administer", Label: "Settings", Path: "settings", Key: "s", Right: shell.ReadConfig},
		Lines: []shell.Line{
			shell.See("/:environment/settings", "settings", shell.ReadConfig, c.settings),
			shell.Confirmed("/:environment/settings", "settings_update", shell.ManageConfig, c.updateSettings),
		},
	}
}
