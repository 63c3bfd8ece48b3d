package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/authz/backgrounds"
	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/moments"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// carriedOver says what happens to templates: the schedule carry-over-templates of the workers trains them anew.
const carriedOver = "replicas follow at once, templates are carried over within 15 minutes and as they are read until then"

// learnedBackgrounds returns the service that learns the backgrounds of environments, and the assessor with those in force.
func learnedBackgrounds(cmd *cobra.Command, c *core) (*backgrounds.Service, *assurance.Assessor, error) {
	assessor := assurance.New(scoring.Default(), c.Keys)
	load := backgrounds.NewLoader(c.Store, assessor, slog.New(slog.DiscardHandler)).Load
	return backgrounds.New(backgrounds.Deps{Store: c.Store, Assessor: assessor, Load: load}), assessor, load(cmd.Context())
}

func backgroundShowCommand() *cobra.Command {
	return onEnvironment("show", "Show what an environment has learned from its people, and which background it uses", cobra.NoArgs,
		func(cmd *cobra.Command, c *core, scope pg.Scope, _ []string) error {
			env, err := tenancy.GetEnvironment(cmd.Context(), c.Store.Q, scope)
			if err != nil {
				return err
			}
			_, assessor, err := learnedBackgrounds(cmd, c)
			if err != nil {
				return err
			}
			_, _ = fmt.Fprintf(cmd.OutOrStdout(), "%s\nin force: %s\n\n", backgroundOf(env), assessor.ModelOf(env.ID).Version())
			if err := showSums(cmd, c, scope); err != nil {
				return err
			}
			rows, err := backgrounds.OfEnvironment(cmd.Context(), c.Store.Q, scope)
			if err != nil {
				return err
			}
			err = table(cmd.OutOrStdout(), "\nVERSION\tSTATUS\tFROM\tPEOPLE\tERROR BEFORE\tERROR\tMADE", func(w io.Writer) error {
				for _, r := range rows {
					var m moments.Comparison
					if err := json.Unmarshal(r.Comparison, &m); err != nil {
						return err
					}
					if _, err := fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%.2f %%\t%.2f %%\t%s\n", r.Version, r.Status, r.Source, r.People,
						100*m.Before.EER, 100*m.After.EER, apitime.Time(r.MadeAt)); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
			return showCards(cmd, assessor, env.ID)
		})
}

// showCards prints the model cards of the environment's own backgrounds in force.
func showCards(cmd *cobra.Command, assessor *assurance.Assessor, environment string) error {
	for _, m := range features.Modalities() {
		own := assessor.ModelOf(environment).Background(m)
		if own == nil || own == assessor.Model().Background(m) {
			continue
		}
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "\n%s", own.Markdown()); err != nil {
			return err
		}
	}
	return nil
}

// showSums prints how many people are counted.
func showSums(cmd *cobra.Command, c *core, scope pg.Scope) error {
	return table(cmd.OutOrStdout(), "MODALITY\tPEOPLE COUNTED\tNEEDED\tSHARES ADDED OR SUBTRACTED", func(w io.Writer) error {
		for _, m := range features.Modalities() {
			if scoring.Default().Background(m) == nil {
				continue
			}
			rows, err := backgrounds.Sums(cmd.Context(), c.Store.Q, scope, string(m), models.BackgroundOwn)
			if err != nil {
				return err
			}
			var sums models.BackgroundSums
			if len(rows) > 0 {
				sums = rows[0]
			}
			if _, err := fmt.Fprintf(w, "%s\t%d\t%d\t%d\n", m, sums.People, moments.MinPeople, sums.Changes); err != nil {
				return err
			}
		}
		return nil
	})
}

func backgroundUpdateCommand() *cobra.Command {
	return onEnvironment("update", "Learn an environment's background now: count, form, compare, and activate it if it is not worse", cobra.NoArgs,
		func(cmd *cobra.Command, c *core, scope pg.Scope, _ []string) error {
			u := &backgroundUpdate{cmd: cmd, core: c, scope: scope}
			var err error
			if u.service, _, err = learnedBackgrounds(cmd, c); err != nil {
				return err
			}
			return u.run()
		})
}

// backgroundUpdate runs the steps of the workflow in this process.
type backgroundUpdate struct {
	cmd     *cobra.Command
	core    *core
	scope   pg.Scope
	service *backgrounds.Service
}

func (u *backgroundUpdate) run() error {
	if err := u.batches("%d people looked at\n", func() (int, bool, error) {
		return u.service.Count(u.cmd.Context(), u.scope.Environment, u.core.Clock.Now())
	}); err != nil {
		return err
	}
	for _, m := range features.Modalities() {
		if scoring.Default().Background(m) == nil {
			continue
		}
		if err := u.form(m); err != nil {
			return err
		}
	}
	return nil
}

// batches repeats a step until nothing is left to do and prints its progress after each batch.
func (u *backgroundUpdate) batches(progress string, step func() (int, bool, error)) error {
	done := 0
	for {
		n, more, err := step()
		if err != nil {
			return err
		}
		done += n
		u.print(progress, done)
		if !more {
			return nil
		}
	}
}

func (u *backgroundUpdate) print(format string, args ...any) {
	_, _ = fmt.Fprintf(u.cmd.OutOrStdout(), format, args...)
}

// updateOutcomes are sentences about the outcomes of forming a background.
var updateOutcomes = map[string]string{
	backgrounds.Off:       "nothing is learned: the setting is prior (countersign tenant background --choice own)",
	backgrounds.TooFew:    "too few people to form a background",
	backgrounds.Unmatched: "too few people of this environment to compare a background on",
	backgrounds.Unchanged: "too few people came or went since the last background",
	backgrounds.Recount:   "the sums could not be read and were deleted; update again to count everyone anew",
	backgrounds.Worse:     "refused: worse than the background in force",
}

func (u *backgroundUpdate) form(m features.Modality) error {
	ctx, now := u.cmd.Context(), u.core.Clock.Now()
	out, err := u.service.Form(ctx, u.scope.Environment, m, now, actor(u.cmd))
	if err != nil {
		return err
	}
	if c := out.Comparison; c.People > 0 {
		u.print("%s: compared on %d people: equal error rate %.2f %%, before %.2f %%; strangers confirmed %.2f %%, before %.2f %%\n", m, c.People,
			100*c.After.EER, 100*c.Before.EER, 100*c.After.FalseConfirmed, 100*c.Before.FalseConfirmed)
	}
	if out.Outcome != backgrounds.Formed {
		u.print("%s: %d people: %s\n", m, out.People, updateOutcomes[out.Outcome])
		return nil
	}
	if err := u.service.Activate(ctx, u.scope.Environment, out.Version, now, actor(u.cmd)); err != nil {
		return err
	}
	u.print("%s: %s of %d people is in force; %s\n", m, out.Version, out.People, carriedOver)
	return nil
}

func backgroundRollbackCommand() *cobra.Command {
	return onEnvironment("rollback MODALITY", "Put an environment's previous background in force again, or the deployment's if there is none", cobra.ExactArgs(1),
		func(cmd *cobra.Command, c *core, scope pg.Scope, args []string) error {
			service, _, err := learnedBackgrounds(cmd, c)
			if err != nil {
				return err
			}
			version, err := service.Rollback(cmd.Context(), scope.Environment, features.Modality(args[0]), c.Clock.Now(), actor(cmd))
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is in force; %s\n", version, carriedOver)
			return err
		})
}
