package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/delivery/destination"
	"github.com/countersign-dev/countersign/internal/platform/pg"
)

func tenantDestinationsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "destinations", Short: "Push an environment's sealed log to a SIEM: OTLP, HTTPS or syslog over TLS", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(destinationsSetCommand(), destinationsListCommand(), destinationsCredentialsCommand(), destinationsRemoveCommand())
	return cmd
}

// destinationFlags are the flags that the commands about destinations share.
type destinationFlags struct{ signalFlags }

// command makes a command on one environment of a tenant, and with named on one of its destinations.
func (f *destinationFlags) command(use, short string, named bool, do func(cmd *cobra.Command, c *core, scope pg.Scope) error) *cobra.Command {
	f.more = []setting{f.destinations()}
	cmd := f.signalFlags.command(use, short, false, do)
	if named {
		cmd.Flags().StringVar(&f.name, "name", "siem", "name of the destination: lower-case letters, digits and hyphens")
	}
	return cmd
}

func destinationsSetCommand() *cobra.Command {
	var f destinationFlags
	var in change.Destination
	var caFile, since string
	cmd := f.command("set", "Set up a destination of the log, or replace its settings; its position stays", true, func(cmd *cobra.Command, c *core, scope pg.Scope) error {
		in.Name = f.name
		var err error
		if in.Since, err = timeFlag("since", since); err != nil {
			return err
		}
		if caFile != "" {
			raw, err := os.ReadFile(caFile) //nolint:gosec // the file that the operator names
			if err != nil {
				return err
			}
			in.CA = string(raw)
		}
		made, err := changesOf(c).SetDestination(cmd.Context(), scope, author(cmd), in)
		if err != nil || made.Requested != nil {
			printRequested(cmd, made.Requested)
			return err
		}
		return printDestinations(cmd, c, scope, f.name)
	})
	cmd.Flags().StringVar((*string)(&in.Kind), "kind", "", "otlp (OTLP logs over HTTP), https (OCSF events in the body of a POST) or syslog (OCSF events in RFC 5424 messages over TLS)")
	cmd.Flags().StringVar(&in.URL, "url", "", "the whole address, such as https://collector.example:4318/v1/logs or tls://logs.example:6514")
	cmd.Flags().StringVar(&in.Encoding, "encoding", "", "of the body: protobuf or json of otlp, lines or array of https; the first if it is not set")
	cmd.Flags().StringVar(&in.Header, "header", "", "name of the header that has the credential; Authorization if it is not set")
	cmd.Flags().StringVar(&caFile, "ca-file", "", "file with the certificates (PEM) that sign the receiver's; those of the machine if it is not set")
	cmd.Flags().StringVar(&since, "since", "", "of a new destination: send the entries from this RFC 3339 time on; those from now on if it is not set")
	return withReason(cmd)
}

// printDestinations prints the destinations of an environment, or the one with a name.
func printDestinations(cmd *cobra.Command, c *core, scope pg.Scope, name string) error {
	all, err := c.LogDestinations.List(cmd.Context(), scope)
	if err != nil {
		return err
	}
	for _, d := range all {
		if name != "" && d.Name != name {
			continue
		}
		behind := fmt.Sprintf("%d entries", d.Behind)
		if d.Oldest != nil {
			behind += fmt.Sprintf(", the oldest sealed %d s ago", int(c.Clock.Now().Sub(*d.Oldest).Seconds()))
		}
		fault := textOr(d.LastError)
		if d.LastError != nil {
			fault = fmt.Sprintf("%s (%d times since %s, again at %s)", *d.LastError, d.Failures, timeOr(d.FailingSince, "-"), timeOr(&d.NextAttemptAt, "-"))
		}
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "name        %s\nkind        %s %s\naddress     %s\ncredentials %t\nposition    %d\nbehind      %s\nsent        %s\nlast error  %s\n",
			d.Name, d.Kind, d.Encoding, d.URL, d.ExportDestination.Credentials != nil, d.Position, behind, timeOr(d.SentAt, "never"), fault); err != nil {
			return err
		}
	}
	return nil
}

func destinationsListCommand() *cobra.Command {
	var f destinationFlags
	return f.command("list", "List the destinations of an environment's log with how far each is behind and its last error", false, func(cmd *cobra.Command, c *core, scope pg.Scope) error {
		return printDestinations(cmd, c, scope, "")
	})
}

func destinationsCredentialsCommand() *cobra.Command {
	var f destinationFlags
	var header, certificate, key string
	cmd := f.command("credentials", "Replace the credentials of a destination; without a file they are removed", true, func(cmd *cobra.Command, c *core, scope pg.Scope) error {
		var in destination.Credentials
		for file, into := range map[string]*string{header: &in.Header, certificate: &in.Certificate, key: &in.Key} {
			if file == "" {
				continue
			}
			var err error
			if *into, err = readSecret(cmd, file); err != nil {
				return err
			}
		}
		return c.LogDestinations.SetCredentials(cmd.Context(), action.Author{Scope: scope, Actor: actor(cmd)}, f.name, in)
	})
	cmd.Flags().StringVar(&header, "header-file", "", "file with the value of the header, such as: Bearer abc; - for standard input")
	cmd.Flags().StringVar(&certificate, "certificate-file", "", "file with the client certificate and its chain (PEM)")
	cmd.Flags().StringVar(&key, "key-file", "", "file with the key of the certificate (PEM)")
	return cmd
}

func destinationsRemoveCommand() *cobra.Command {
	var f destinationFlags
	return withReason(f.command("remove", "Remove a destination of the log with its credentials and its position", true, func(cmd *cobra.Command, c *core, scope pg.Scope) error {
		made, err := changesOf(c).RemoveDestination(cmd.Context(), scope, author(cmd), f.name)
		printRequested(cmd, made.Requested)
		return err
	}))
}
