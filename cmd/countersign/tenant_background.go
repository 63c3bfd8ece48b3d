package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// chooseBackground refuses a choice that is missing or unknown: no default is right for a live environment.
func chooseBackground(choice models.BackgroundChoice) error {
	if !slices.Contains([]models.BackgroundChoice{models.BackgroundOwn, models.BackgroundShared, models.BackgroundPrior}, choice) {
		return usage("--background is %q: choose own, shared or prior; docs/background.md explains what it means and whom to ask", choice)
	}
	return nil
}

func tenantBackgroundCommand() *cobra.Command {
	var choice models.BackgroundChoice
	cmd := environmentSetting{
		use: "background", short: "Show or set whether an environment learns from the people who enroll in it", flags: []string{"choice"},
		change: func(cmd *cobra.Command, c *core, scope pg.Scope) (models.Environment, error) {
			if err := chooseBackground(choice); err != nil {
				return models.Environment{}, err
			}
			return changeSettings(cmd, c, scope, tenancy.Settings{"background": choice})
		},
		describe: backgroundOf,
	}.command()
	cmd.Flags().StringVar((*string)(&choice), "choice", "", "own, shared or prior; prior deletes what the environment has learned")
	return withReason(cmd)
}

// backgroundOf describes what an environment compares people with.
func backgroundOf(env models.Environment) string {
	return map[models.BackgroundChoice]string{
		models.BackgroundPrior:  "nothing is learned from the people who enroll; countersign tenant background --choice own changes that",
		models.BackgroundOwn:    fmt.Sprintf("the background is learned from the people who enroll in %s", env.ID),
		models.BackgroundShared: "the background is learned from the people of all environments of this kind that share",
	}[env.Background]
}
