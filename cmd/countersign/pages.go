package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/store"
)

func tenantPagesCommand() *cobra.Command {
	var origin string
	var returns, ancestors []string
	cmd := onEnvironment("pages", "Show or set where an environment's hosted pages live and where they may send people back to", cobra.NoArgs,
		func(cmd *cobra.Command, c *core, env store.Scope, _ []string) error {
			var in tenancy.Pages // what is not named is kept
			if cmd.Flags().Changed("origin") {
				in.Origin = &origin
			}
			if cmd.Flags().Changed("return-origin") {
				in.ReturnOrigins = returns
			}
			if cmd.Flags().Changed("frame-ancestor") {
				in.FrameAncestors = ancestors
			}
			is, err := c.Store.Environments().Get(cmd.Context(), env)
			if in.Origin != nil || in.ReturnOrigins != nil || in.FrameAncestors != nil {
				is, err = c.Tenancy.SetPages(cmd.Context(), env, in, actor(cmd))
			}
			if err != nil {
				return err
			}
			at := "the service's own address"
			if is.PageOrigin != nil {
				at = *is.PageOrigin
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "pages are at %s\nthey send people back to %s\nthey are shown in frames of %s\n", at,
				strings.Join(append(is.RPOrigins, is.ReturnOrigins...), ", "), orNobody(is.FrameAncestors))
			return err
		})
	cmd.Flags().StringVar(&origin, "origin", "", "where links point to: an origin that passkeys are used from, whose host is the service; empty for the service's own")
	cmd.Flags().StringSliceVar(&returns, "return-origin", nil, "origin that pages may send people back to, beside those that passkeys are used from; repeatable; empty for none")
	cmd.Flags().StringSliceVar(&ancestors, "frame-ancestor", nil, "origin that may show the pages in a frame; repeatable; empty for none")
	return cmd
}

func orNobody(list []string) string {
	if len(list) == 0 {
		return "nobody"
	}
	return strings.Join(list, ", ")
}
