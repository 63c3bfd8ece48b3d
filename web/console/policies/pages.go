// Package policies has the pages of actions and their policy versions: contents, differences, simulations, drafts and the rule builder.
package policies

import (
	"embed"

	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/change"
	reads "github.com/countersign-dev/countersign/internal/delivery/consolequery"
	"github.com/countersign-dev/countersign/web/console/exports"
	"github.com/countersign-dev/countersign/web/console/shell"
)

//go:embed all:templates
var templates embed.FS

// Pages are the pages of policies.
type Pages struct {
	*shell.Shell
	Actions        *action.Service
	Authorizations *authorization.Service
	Changes        *change.Service
	Reader         *reads.Reader
	ExportPages    *exports.Pages
}

// Record declares the pages: their routes, templates and entry of the navigation.
func (c *Pages) Record() shell.Record {
	return shell.Record{
		Entry:     &shell.Entry{Group: "Policy", Label: "Policies", Path: "policies", Key: "p", Right: shell.ReadConfig},
		Templates: templates,
		Lines: []shell.Line{
			shell.See("/:environment/export/policies", "export_policies", shell.ReadConfig, c.ExportPages.Handler(c.policiesExport)),
			shell.See("/:environment/policies", "policies", shell.ReadConfig, c.policies),
			shell.See("/:environment/policies/new", "action_new", shell.WritePolicies, c.newAction),
			shell.Change("/:environment/policies/new", "action_create", shell.WritePolicies, c.createAction),
			shell.See("/:environment/policies/:action", "policy", shell.ReadConfig, c.policy),
			shell.See("/:environment/policies/:action/edit", "action_edit", shell.ActivatePolicies, c.editAction),
			shell.Confirmed("/:environment/policies/:action/edit", "action_update", shell.ActivatePolicies, c.updateAction),
			shell.Confirmed("/:environment/policies/:action/archive", "action_archive", shell.ActivatePolicies, c.archiveAction),
			shell.See("/:environment/policies/:action/draft", "draft", shell.WritePolicies, c.draft),
			shell.Change("/:environment/policies/:action/draft", "draft_create", shell.WritePolicies, c.createDraft),
			shell.See("/:environment/policies/:action/draft-text", "draft_text", shell.WritePolicies, c.draftText),
			shell.Change("/:environment/policies/:action/draft-text", "draft_text_create", shell.WritePolicies, c.createDraftText),
			shell.Change("/:environment/policies/:action/rule", "rule_write", shell.WritePolicies, c.writeRule),
			shell.Change("/:environment/policies/:action/matches", "rule_matches", shell.WritePolicies, c.ruleMatches),
			shell.See("/:environment/policies/:action/:version", "policy_version", shell.ReadConfig, c.policyVersion),
			shell.Confirmed("/:environment/policies/:action/:version/activate", "policy_activate", shell.ActivatePolicies, c.activate),
			shell.Confirmed("/:environment/policies/:action/:version/roll-back", "policy_roll_back", shell.ActivatePolicies, c.rollBack),
		},
	}
}
