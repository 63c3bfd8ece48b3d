package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// environmentSetting is a command that shows a setting of an environment, after changing it if one of the flags is given.
type environmentSetting struct {
	use, short string
	flags      []string
	change     func(cmd *cobra.Command, c *core, scope pg.Scope) (models.Environment, error)
	describe   func(env models.Environment) string // one or more lines, without the last line break
	branded    bool                                // describe needs the environment's brand
}

func (e environmentSetting) command() *cobra.Command {
	return onEnvironment(e.use, e.short, cobra.NoArgs, func(cmd *cobra.Command, c *core, scope pg.Scope, _ []string) error {
		get := tenancy.GetEnvironment
		if e.branded {
			get = tenancy.BrandedEnvironment
		}
		env, err := get(cmd.Context(), c.Store.Q, scope)
		if err == nil && slices.ContainsFunc(e.flags, cmd.Flags().Changed) {
			env, err = e.change(cmd, c, scope)
		}
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), e.describe(env))
		return err
	})
}

func tenantQuotaCommand() *cobra.Command {
	var ceiling, servers int
	cmd := environmentSetting{
		use: "quota", short: "Show or set the highest rate limit of a key, and that of an environment's servers together", flags: []string{"ceiling", "servers"},
		change: func(cmd *cobra.Command, c *core, scope pg.Scope) (env models.Environment, err error) {
			for _, flag := range []struct {
				name  string
				value int
				set   func(ctx context.Context, s pg.Scope, limit *int, actor string) (models.Environment, error)
			}{{"ceiling", ceiling, c.Tenancy.UpdateRateLimitCeiling}, {"servers", servers, c.Tenancy.UpdateRateLimit}} {
				switch {
				case !cmd.Flags().Changed(flag.name):
					continue
				case flag.value < 0:
					return env, usage("--%s is %d: it must not be negative", flag.name, flag.value)
				}
				limit := &flag.value
				if flag.value == 0 {
					limit = nil
				}
				if env, err = flag.set(cmd.Context(), scope, limit, actor(cmd)); err != nil {
					return env, err
				}
			}
			return env, nil
		},
		describe: func(env models.Environment) string {
			text := fmt.Sprintf("admins may give a key at most %d requests an hour; ", identity.Ceiling(env))
			if env.RateLimit == nil {
				return text + "all server keys together have the quota of the largest"
			}
			return text + fmt.Sprintf("all server keys together have %d requests an hour", *env.RateLimit)
		},
	}.command()
	cmd.Flags().IntVar(&ceiling, "ceiling", 0, "most requests an hour that an admin may give a key; 0 is the default of the environment's kind")
	cmd.Flags().IntVar(&servers, "servers", 0, "requests an hour of all server and admin keys together; 0 is the limit of the largest")
	return cmd
}

func tenantReviewsCommand() *cobra.Command {
	var bar bool
	cmd := environmentSetting{
		use: "reviews", short: "Show or set whether an environment bars self-review of holds", flags: []string{"bar-self-review"},
		change: func(cmd *cobra.Command, c *core, scope pg.Scope) (models.Environment, error) {
			return changeSettings(cmd, c, scope, tenancy.Settings{"bar_self_review": bar})
		},
		describe: selfReview,
	}.command()
	cmd.Flags().BoolVar(&bar, "bar-self-review", false, "require a reviewer other than the requester for every hold")
	return withReason(cmd)
}

// selfReview describes an environment's rule on self-review.
func selfReview(env models.Environment) string {
	if env.BarSelfReview {
		return "self-review of holds is barred"
	}
	return "self-review of holds is allowed unless a policy bars it; countersign tenant reviews --bar-self-review bars it for all policies"
}

func tenantPagesCommand() *cobra.Command {
	var origin string
	var returns, ancestors []string
	cmd := environmentSetting{
		use: "pages", short: "Show or set the origin of an environment's hosted pages and where they may redirect to",
		flags: []string{"origin", "return-origin", "frame-ancestor"},
		change: func(cmd *cobra.Command, c *core, scope pg.Scope) (models.Environment, error) {
			in := tenancy.Settings{}
			if cmd.Flags().Changed("origin") {
				in["page_origin"] = origin
			}
			if cmd.Flags().Changed("return-origin") {
				in["return_origins"] = returns
			}
			if cmd.Flags().Changed("frame-ancestor") {
				in["frame_ancestors"] = ancestors
			}
			return changeSettings(cmd, c, scope, in)
		},
		describe: hostedPages,
	}.command()
	cmd.Flags().StringVar(&origin, "origin", "", "origin of links to the pages; passkeys must be allowed on it and its host must reach the service; empty for the service's own")
	cmd.Flags().StringSliceVar(&returns, "return-origin", nil, "origin that the pages may redirect to, besides those that passkeys are used from; repeatable; empty for none")
	cmd.Flags().StringSliceVar(&ancestors, "frame-ancestor", nil, "origin that may embed the pages in a frame; repeatable; empty for none")
	return withReason(cmd)
}

// hostedPages describes where an environment's pages are and where they may redirect to.
func hostedPages(env models.Environment) string {
	origin, ancestors := "the service's base URL", "no origin"
	if env.PageOrigin != nil {
		origin = *env.PageOrigin
	}
	if len(env.FrameAncestors) > 0 {
		ancestors = strings.Join(env.FrameAncestors, ", ")
	}
	return fmt.Sprintf("pages are served at %s\nthey may redirect to %s\nthey may be embedded by %s",
		origin, strings.Join(append(env.RPOrigins, env.ReturnOrigins...), ", "), ancestors)
}
