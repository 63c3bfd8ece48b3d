package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/cmd/countersign/wiring"
	authorizations "github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/authz/display"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/workflows"
)

func auditCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "audit", Short: "Verify and export the audit log; print the timeline of an authorization", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(auditVerifyCommand(), auditHeadCommand(), auditExportCommand(), auditTrailCommand())
	return cmd
}

// readHead reads an exported head and checks its signature; nil if no file is named.
func readHead(ctx context.Context, c *core, env pg.Scope, file string) (*audit.Head, error) {
	if file == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(file) // #nosec G304 -- the operator's file
	if err != nil {
		return nil, err
	}
	var head audit.Head
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, fmt.Errorf("%s holds no head: %w", file, err)
	}
	return &head, audit.CheckHead(ctx, env, c.Signing, head)
}

func auditHeadCommand() *cobra.Command {
	return onEnvironment("head", "Print the signed head of an environment's chain, to store elsewhere", cobra.NoArgs,
		func(cmd *cobra.Command, c *core, env pg.Scope, _ []string) error {
			head, err := audit.SignedHead(cmd.Context(), c.Store.Q, env, c.Signing, c.Clock)
			if err != nil {
				return err
			}
			return printJSON(cmd.OutOrStdout(), head)
		})
}

func auditExportCommand() *cobra.Command {
	var since, until string
	cmd := onEnvironment("export", "Write a signed head and an environment's sealed entries as JSON Lines", cobra.NoArgs,
		func(cmd *cobra.Command, c *core, env pg.Scope, _ []string) error {
			var r audit.Range
			var err error
			if r.Since, err = timeFlag("since", since); err != nil {
				return err
			}
			if r.Until, err = timeFlag("until", until); err != nil {
				return err
			}
			head, err := audit.SignedHead(cmd.Context(), c.Store.Q, env, c.Signing, c.Clock)
			if err != nil {
				return err
			}
			bar := progressBar(cmd)
			n, err := audit.Export(cmd.Context(), c.Store, env, r, head, bar.Lines(cmd.OutOrStdout(), "entries exported"))
			bar.Close()
			if err != nil {
				return err
			}
			return events.Append(cmd.Context(), c.Store.Q, events.Entry{Scope: env, At: c.Clock.Now(),
				Actor: actor(cmd), Data: events.AuditExportedData{Entries: n}})
		})
	cmd.Flags().StringVar(&since, "since", "", "only entries at or after this RFC 3339 time")
	cmd.Flags().StringVar(&until, "until", "", "only entries before this RFC 3339 time")
	return cmd
}

func timeFlag(name, text string) (*time.Time, error) {
	if text == "" {
		return nil, nil
	}
	t, err := apitime.Parse(text)
	if err != nil {
		return nil, usage("--%s is %q: it %v", name, text, err)
	}
	return &t, nil
}

func auditTrailCommand() *cobra.Command {
	var s settings
	var environment string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "trail AUTHORIZATION",
		Short: "Print an authorization's evidence, policy, decision, reviewers and proof",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := openCLI(cmd.Context(), &s)
			if err != nil {
				return err
			}
			defer c.Close()
			env, err := trailScope(cmd, c, environment, args[0])
			if err != nil {
				return err
			}
			histories, done, err := openHistories(&s, c)
			if err != nil {
				return err
			}
			defer done()
			trail, err := audit.TrailOf(cmd.Context(), c.Store, env, args[0], histories)
			if errors.Is(err, pg.ErrNotFound) {
				return usage("environment %s has no authorization %q", env.Environment, args[0])
			}
			if err != nil {
				return err
			}
			if err := showDetails(cmd.Context(), c, env, &trail); err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), trail)
			}
			return trail.WriteText(cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&environment, "environment", "", environmentHelp+"; all are searched without it")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON instead of text")
	bindCore(cmd, &s, s.temporal()...)
	return cmd
}

// trailScope is the scope of the named environment, or of the authorization.
func trailScope(cmd *cobra.Command, c *core, environment, authorization string) (pg.Scope, error) {
	if environment != "" {
		return environmentOf(cmd, c, "", environment)
	}
	scope, err := authorizations.ScopeOfDecision(cmd.Context(), c.Store.Q, authorization)
	if errors.Is(err, pg.ErrNotFound) {
		return scope, usage("no environment has an authorization %q", authorization)
	}
	return scope, err
}

// openHistories connects to Temporal if its address is set. Without it the timeline has the entries of Postgres only.
func openHistories(s *settings, c *core) (audit.Histories, func(), error) {
	if s.temporalAddress == "" {
		return nil, func() {}, nil
	}
	tlsConfig, err := s.tlsConfig()
	if err != nil {
		return nil, nil, err
	}
	client, err := workflows.Dial(workflows.DialOptions{
		Address: s.temporalAddress, Namespace: s.temporalNamespace, APIKey: s.temporalAPIKey, TLS: tlsConfig, Keyring: c.Keys, Log: c.Log,
	})
	if err != nil {
		return nil, nil, err
	}
	return wiring.Histories{Client: client}, client.Close, nil
}

func printJSON(out io.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// showDetails adds to each decision of the trail the details that a person was shown. Details that no longer open, for instance
// after a master key was retired, are left out.
func showDetails(ctx context.Context, c *core, env pg.Scope, trail *audit.Trail) error {
	vault := display.NewVault(c.Keys)
	for i := range trail.Decisions {
		d := &trail.Decisions[i]
		sealed, err := challenge.ShownDetailsOf(ctx, c.Store.Q, env, d.ID)
		if err != nil {
			return err
		}
		details, err := vault.Open(d.ID, sealed)
		if err != nil {
			continue
		}
		for _, shown := range details {
			d.Details = append(d.Details, audit.ShownDetail{Label: shown.Label, Value: shown.Value})
		}
	}
	return nil
}
