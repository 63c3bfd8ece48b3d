package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// The contract's limits of change_ttl_seconds.
const (
	minChangeLife = 5 * time.Minute
	maxChangeLife = 30 * 24 * time.Hour
)

func tenantApprovalsCommand() *cobra.Command {
	var second bool
	var life time.Duration
	cmd := environmentSetting{
		use: "approvals", short: "Show or set whether changes of an environment's configuration wait for a second approver",
		flags: []string{"second-approver", "change-life"},
		change: func(cmd *cobra.Command, c *core, scope pg.Scope) (models.Environment, error) {
			in := tenancy.Settings{}
			if cmd.Flags().Changed("second-approver") {
				in["second_approver_required"] = second
			}
			if cmd.Flags().Changed("change-life") {
				if life < minChangeLife || life > maxChangeLife {
					return models.Environment{}, usage("--change-life is %s: it must be between %s and %s", life, minChangeLife, maxChangeLife)
				}
				in["change_ttl_seconds"] = int(life / time.Second)
			}
			return changeSettings(cmd, c, scope, in)
		},
		describe: secondApprover,
	}.command()
	cmd.Flags().BoolVar(&second, "second-approver", false, "make policy activations, changes of an action's mode, changes of settings and changes of teams wait for a second person or key")
	cmd.Flags().DurationVar(&life, "change-life", 24*time.Hour, "how long such a change waits, 5m to 720h")
	return withReason(cmd)
}

// secondApprover describes an environment's rule on changes of its configuration.
func secondApprover(env models.Environment) string {
	if env.SecondApproverRequired {
		return fmt.Sprintf("changes wait for a second approver, %s at most", time.Duration(env.ChangeTTLSeconds)*time.Second)
	}
	return "changes need no second approver; countersign tenant approvals --second-approver requires one"
}

// changeSettings changes settings of an environment. If it requires a second approver, it prints the change request and returns
// the environment as it is.
func changeSettings(cmd *cobra.Command, c *core, scope pg.Scope, in tenancy.Settings) (models.Environment, error) {
	made, err := changesOf(c).UpdateSettingsBy(cmd.Context(), scope, in, author(cmd))
	if err != nil || made.Requested == nil {
		return made.Applied, err
	}
	printRequested(cmd, made.Requested)
	return c.Tenancy.Environment(cmd.Context(), scope)
}

// withReason adds --reason to a command whose change may wait for a second approver.
func withReason(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().String("reason", "", "why, for the second approver")
	return cmd
}

// author is who makes the change of a command, with the reason if the command takes one.
func author(cmd *cobra.Command) change.By {
	by := change.By{Actor: actor(cmd)}
	if reason := cmd.Flags().Lookup("reason"); reason != nil {
		by.Reason = reason.Value.String()
	}
	return by
}

// changesOf is the service of changes that may wait for a second approver.
func changesOf(c *core) *change.Service {
	return change.New(change.Deps{Store: c.Store, Clock: c.Clock, Actions: action.New(c.Store, c.Clock), Tenancy: c.Tenancy, Teams: c.Teams, Lists: c.Lists, Signals: c.Signals, Destinations: c.LogDestinations})
}

// printRequested prints a change request; nothing for a change that was applied.
func printRequested(cmd *cobra.Command, requested *change.View) {
	if requested == nil {
		return
	}
	_, _ = fmt.Fprintf(cmd.OutOrStdout(), "change %s waits for a second approver until %s: approve it in the console, or with POST /api/v1/changes/%s/approve\n",
		requested.ID, apitime.Time(requested.ExpiresAt), requested.ID)
}
