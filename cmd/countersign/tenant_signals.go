package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/subject/signal"
	"github.com/countersign-dev/countersign/models"
)

func tenantSignalsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "signals", Short: "Take security events about subjects from an identity provider (OpenID Shared Signals)", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	token := &cobra.Command{Use: "token", Short: "Tokens for pushing and polling events", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	token.AddCommand(signalsPushTokenCommand(), signalsPollTokenCommand())
	cmd.AddCommand(signalsSetCommand(), signalsListCommand(), signalsShowCommand(), signalsRemoveCommand(), token)
	return cmd
}

// signalFlags are the flags that the commands about security events share.
type signalFlags struct {
	oidcFlags
	environment string
}

// command makes a command on one environment of a tenant.
func (f *signalFlags) command(use, short string, named bool, do func(cmd *cobra.Command, c *core, scope pg.Scope) error) *cobra.Command {
	cmd := f.oidcFlags.command(use, short, false, func(cmd *cobra.Command, c *core, tenant string) error {
		scope, err := environmentOf(cmd, c, tenant, f.environment)
		if err != nil {
			return err
		}
		return do(cmd, c, scope)
	})
	cmd.Flags().StringVar(&f.environment, "environment", "live", "the environment: its id (env_...), sandbox or live")
	if named {
		cmd.Flags().StringVar(&f.name, "name", "company", "name of the issuer: lower-case letters, digits and hyphens")
	}
	return cmd
}

func signalsSetCommand() *cobra.Command {
	var f signalFlags
	var in change.SignalStream
	var keysFile string
	var effects []string
	cmd := f.command("set", "Set up an issuer of security events, or replace its settings; its tokens stay", true, func(cmd *cobra.Command, c *core, scope pg.Scope) error {
		in.Name = f.name
		if keysFile != "" {
			raw, err := os.ReadFile(keysFile) //nolint:gosec // the file that the operator names
			if err != nil {
				return err
			}
			in.Keys = json.RawMessage(raw)
		}
		var err error
		if in.Effects, err = parseEffects(effects); err != nil {
			return err
		}
		made, err := changesOf(c).SetSignals(cmd.Context(), scope, author(cmd), in)
		if err != nil || made.Requested != nil {
			printRequested(cmd, made.Requested)
			return err
		}
		return printStreams(cmd, c, scope, f.name)
	})
	cmd.Flags().StringVar(&in.Issuer, "issuer", "", "issuer of the events (iss), exactly as its tokens name it")
	cmd.Flags().StringVar(&in.Audience, "audience", "", "audience of the events (aud), as it is registered at the issuer")
	cmd.Flags().StringVar(&in.KeysURL, "keys-url", "", "where the issuer publishes its keys (jwks_uri)")
	cmd.Flags().StringVar(&keysFile, "keys-file", "", "file with the keys (JWKS), in place of --keys-url")
	cmd.Flags().StringVar(&in.PollURL, "poll-url", "", "where events are polled (RFC 8936); without it the issuer pushes them")
	cmd.Flags().StringArrayVar(&effects, "effect", nil, "what events of a type do in place of the default, such as session-revoked=end_sessions,void_proofs,challenge:1h, or token-claims-change=none; repeatable")
	return withReason(cmd)
}

// parseEffects parses the --effect flags.
func parseEffects(flags []string) (map[string]models.SignalEffects, error) {
	out := map[string]models.SignalEffects{}
	for _, flag := range flags {
		kind, list, ok := strings.Cut(flag, "=")
		if !ok {
			return nil, usage("--effect is %q: want TYPE=EFFECT,EFFECT, such as session-revoked=end_sessions,challenge:1h", flag)
		}
		var e models.SignalEffects
		for _, name := range strings.Split(list, ",") {
			name, length, _ := strings.Cut(name, ":")
			switch name {
			case signal.EffectEndSessions:
				e.EndSessions = true
			case signal.EffectVoidProofs:
				e.VoidProofs = true
			case signal.EffectRevoke:
				e.Revoke = true
			case signal.EffectChallenge:
				span, err := time.ParseDuration(length)
				if err != nil || span <= 0 {
					return nil, usage("--effect is %q: challenge needs a time, such as challenge:1h", flag)
				}
				e.ChallengeSeconds = int(span.Seconds())
			case "none":
			default:
				return nil, usage("--effect is %q: the effects are end_sessions, void_proofs, challenge:TIME, revoke and none", flag)
			}
		}
		out[kind] = e
	}
	return out, nil
}

// printStreams prints the issuers of an environment, or the one with a name.
func printStreams(cmd *cobra.Command, c *core, scope pg.Scope, name string) error {
	streams, err := c.Signals.List(cmd.Context(), scope)
	if err != nil {
		return err
	}
	for _, s := range streams {
		if name != "" && s.Name != name {
			continue
		}
		keys, from := s.Settings.KeysURL, "pushed to "+s.PushURL
		if keys == "" {
			keys = "stored"
		}
		if s.PollURL != nil {
			from = "polled from " + *s.PollURL
		}
		fault := textOr(s.LastError)
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "name       %s\nissuer     %s\naudience   %s\nkeys       %s\nevents     %s\nstatus     %s\nreceived   %s\nlast error %s\n",
			s.Name, s.Issuer, s.Audience, keys, from, s.Status, timeOr(s.ReceivedAt, "never"), fault); err != nil {
			return err
		}
		effects := signal.Defaults()
		for kind, own := range s.Settings.Effects {
			effects[kind] = own
		}
		for _, line := range signal.Described(effects) {
			if _, err := fmt.Fprintln(cmd.OutOrStdout(), "effects    "+line); err != nil {
				return err
			}
		}
	}
	return nil
}

func signalsListCommand() *cobra.Command {
	var f signalFlags
	return f.command("list", "List the issuers of security events of an environment with what each event does", false, func(cmd *cobra.Command, c *core, scope pg.Scope) error {
		return printStreams(cmd, c, scope, "")
	})
}

func signalsShowCommand() *cobra.Command {
	var f signalFlags
	return f.command("show", "Show the newest events of an issuer and what each did", true, func(cmd *cobra.Command, c *core, scope pg.Scope) error {
		streams, err := c.Signals.List(cmd.Context(), scope)
		if err != nil {
			return err
		}
		for _, s := range streams {
			if s.Name != f.name {
				continue
			}
			rows, err := c.Signals.Newest(cmd.Context(), scope, s.ID)
			if err != nil {
				return err
			}
			return table(cmd.OutOrStdout(), "RECEIVED\tHAPPENED\tTYPE\tSUBJECT KNOWN\tEFFECTS", func(w io.Writer) error {
				for _, r := range rows {
					_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", apitime.Time(r.ReceivedAt), apitime.Time(r.At), r.Type, strconv.FormatBool(r.SubjectUID != nil), strings.Join(r.Effects, ", "))
				}
				return nil
			})
		}
		return usage("there is no issuer %q: countersign tenant signals list shows them", f.name)
	})
}

func signalsRemoveCommand() *cobra.Command {
	var f signalFlags
	return withReason(f.command("remove", "Remove an issuer of security events with its tokens; what was received stays", true, func(cmd *cobra.Command, c *core, scope pg.Scope) error {
		made, err := changesOf(c).RemoveSignals(cmd.Context(), scope, author(cmd), f.name)
		printRequested(cmd, made.Requested)
		return err
	}))
}

func signalsPushTokenCommand() *cobra.Command {
	var f signalFlags
	return f.command("push", "Create the token with which the issuer pushes and print it, this once; the one of before ends", true, func(cmd *cobra.Command, c *core, scope pg.Scope) error {
		token, err := c.Signals.IssuePushToken(cmd.Context(), scope, f.name, actor(cmd))
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), token)
		return err
	})
}

func signalsPollTokenCommand() *cobra.Command {
	var f signalFlags
	var file string
	cmd := f.command("poll", "Store the token with which events are polled", true, func(cmd *cobra.Command, c *core, scope pg.Scope) error {
		if file == "" {
			return usage("--file is not set: the file with the token, - for standard input")
		}
		token, err := readSecret(cmd, file)
		if err != nil {
			return err
		}
		return c.Signals.SetPollToken(cmd.Context(), scope, f.name, token, actor(cmd))
	})
	cmd.Flags().StringVar(&file, "file", "", "file with the token, - for standard input")
	return cmd
}
