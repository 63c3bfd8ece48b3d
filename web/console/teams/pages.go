// Package teams has the pages of teams of reviewers and their deputies.
package teams

import (
	"embed"

	"github.com/countersign-dev/countersign/internal/account/team"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/web/console/shell"
)

//go:embed all:templates
var templates embed.FS

// Pages are the pages of teams.
type Pages struct {
	*shell.Shell
	Changes *change.Service
	Teams   *team.Service
}

// Record declares the pages: their routes, templates and entry of the navigation.
func (c *Pages) Record() shell.Record {
	return shell.Record{
		Entry:     &shell.Entry{Group: "Administer", Label: "Teams", Path: "teams", Key: "t", Right: shell.AnyRole},
		Templates: templates,
		Lines: []shell.Line{
			shell.See("/:environment/teams", "teams", shell.AnyRole, c.teams),
			shell.See("/:environment/teams/new", "team_new", shell.ActivatePolicies, c.newTeam),
			shell.Confirmed("/:environment/teams/new", "team_create", shell.ActivatePolicies, c.createTeam),
			shell.See("/:environment/teams/:id", "team", shell.ActivatePolicies, c.editTeam),
			shell.Confirmed("/:environment/teams/:id", "team_update", shell.ActivatePolicies, c.updateTeam),
			shell.Confirmed("/:environment/teams/:id/delete", "team_delete", shell.ActivatePolicies, c.deleteTeam),
			shell.See("/:environment/deputies/new", "deputy_new", shell.Review, c.newDeputy),
			shell.Confirmed("/:environment/deputies/new", "deputy_name", shell.Review, c.nameDeputy),
			shell.Confirmed("/:environment/deputies/:id/withdraw", "deputy_withdraw", shell.Review, c.withdrawDeputy),
		},
	}
}
