// Package people has the pages of the staff with a role in the environment.
package people

import (
	"embed"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/delivery/notify"
	"github.com/countersign-dev/countersign/web/console/exports"
	"github.com/countersign-dev/countersign/web/console/shell"
)

//go:embed all:templates
var templates embed.FS

// Pages are the pages of people.
type Pages struct {
	*shell.Shell
	Credentials *identity.Service
	Notices     *notify.Service
	ExportPages *exports.Pages
}

// Record declares the pages: their routes, templates and entry of the navigation.
func (c *Pages) Record() shell.Record {
	return shell.Record{
		Entry:     &shell.Entry{Group: "Administer", Label: "People", Path: "people", Key: "o", Right: shell.ReadConfig},
		Templates: templates,
		Lines: []shell.Line{
			shell.See("/:environment/export/people", "export_people", shell.ReadConfig, c.ExportPages.Handler(c.peopleExport)),
			shell.See("/:environment/people", "people", shell.ReadConfig, c.people),
			shell.See("/:environment/people/new", "person_new", shell.ManageCredentials, c.newPerson),
			shell.Confirmed("/:environment/people/new", "person_invite", shell.ManageCredentials, c.invitePerson),
			shell.See("/:environment/people/:id", "person", shell.ManageCredentials, c.person),
			shell.Confirmed("/:environment/people/:id", "person_roles", shell.ManageCredentials, c.changePerson),
			shell.Confirmed("/:environment/people/:id/invite", "person_invite_again", shell.ManageCredentials, c.invitePersonAgain),
			shell.Confirmed("/:environment/people/:id/confirm", "person_confirm", shell.ManageCredentials, c.confirmPerson),
			shell.See("/:environment/people/:id/link", "person_link_form", shell.ManageCredentials, c.linkPersonForm),
			shell.Confirmed("/:environment/people/:id/link", "person_link", shell.ManageCredentials, c.linkPerson),
			shell.Confirmed("/:environment/people/:id/remove", "person_remove", shell.ManageCredentials, c.removePerson),
		},
	}
}
