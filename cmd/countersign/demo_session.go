package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/local/demo"
	"github.com/countersign-dev/countersign/internal/platform/clock"
)

func demoSessionCommand() *cobra.Command {
	var r remote
	var subject, typing string
	cmd := &cobra.Command{
		Use: "session", Args: cobra.NoArgs,
		Short: "Open a session of a sandbox in which a simulated person types, to test an integration without a browser, and print its id",
		Long: `Open a session of a sandbox in which a simulated person types, to test an integration without a browser, and print its id.

Every call with --as self is the same person, and every call with --as other the same different one. A subject that is missing is created,
and one without a template is enrolled first. Send the id as "session" to POST /api/v1/authorize.`,
		Example: `  countersign demo session --subject ada                # the enrolled person
  countersign demo session --subject ada --as other     # a different person in their name
  countersign demo session --subject ada --as replay    # the enrolled person, with a frame that is sent twice
  countersign demo session --subject ada --as program   # a script that types`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if subject == "" {
				return usage("--subject is not set: give the id of a subject of the sandbox")
			}
			if !slices.Contains(demo.Typings, demo.Typing(typing)) {
				return usage("--as is %q: want self, other, replay or program", typing)
			}
			api, err := r.client(cmd.Context())
			if err != nil {
				return err
			}
			id, err := demo.Session(cmd.Context(), demo.SessionOptions{
				API: api, Subject: subject, Typing: demo.Typing(typing), Now: clock.System().Now, Out: cmd.ErrOrStderr(),
			})
			if err == nil {
				_, _ = fmt.Fprintln(cmd.OutOrStdout(), id)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&subject, "subject", "", "`id` of the subject")
	cmd.Flags().StringVar(&typing, "as", string(demo.TypingSelf), "who types: self, other, replay or program")
	r.bind(cmd, serverKey)
	return cmd
}
