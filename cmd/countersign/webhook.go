package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/platform/apitime"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

func webhookCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "webhook", Short: "List, test and replay webhook endpoints", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(webhookListCommand(), webhookTestCommand(), webhookReplayCommand())
	return cmd
}

// onAPI makes a command that calls the API with an admin key.
func onAPI(use, short string, args cobra.PositionalArgs, run func(cmd *cobra.Command, api *countersign.Client, args []string) error) *cobra.Command {
	var r remote
	cmd := &cobra.Command{Use: use, Short: short, Args: args, RunE: func(cmd *cobra.Command, args []string) error {
		api, err := r.client(cmd.Context())
		if err != nil {
			return err
		}
		return run(cmd, api, args)
	}}
	r.bind(cmd, adminKey)
	return cmd
}

func webhookListCommand() *cobra.Command {
	return onAPI("list", "List webhook endpoints with their last attempt", cobra.NoArgs, func(cmd *cobra.Command, api *countersign.Client, _ []string) error {
		return table(cmd.OutOrStdout(), "ENDPOINT\tSTATUS\tEVENTS\tLAST ATTEMPT\tURL", func(w io.Writer) error {
			for e, err := range api.AllWebhookEndpoints(cmd.Context(), countersign.ListWebhookEndpointsParams{}) {
				if err != nil {
					return err
				}
				attempts, err := api.ListWebhookAttempts(cmd.Context(), e.ID, countersign.ListWebhookAttemptsParams{Limit: 1})
				if err != nil {
					return err
				}
				_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", e.ID, e.Status, strings.Join(e.Events, ","), lastAttempt(attempts.Items), e.URL)
			}
			return nil
		})
	})
}

// lastAttempt describes the newest attempt: its status, its HTTP status or error, and when it was.
func lastAttempt(newest []countersign.WebhookAttempt) string {
	if len(newest) == 0 {
		return "-"
	}
	a := newest[0]
	out := string(a.Status)
	if a.StatusCode != nil {
		out += fmt.Sprintf(" %d", *a.StatusCode)
	} else if a.Error != "" {
		out += " " + a.Error
	}
	if a.At != nil {
		out += " " + apitime.Time(*a.At)
	}
	return out
}

func webhookTestCommand() *cobra.Command {
	return onAPI("test ENDPOINT", "Send a webhook.test event to an endpoint now, and print its response", cobra.ExactArgs(1), func(cmd *cobra.Command, api *countersign.Client, args []string) error {
		r, err := api.TestWebhookEndpoint(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		said := r.Error
		if r.StatusCode != nil {
			said = fmt.Sprintf("status %d", *r.StatusCode)
		}
		if !r.Delivered {
			return fmt.Errorf("%s was not delivered: %s after %d ms", r.Event, said, r.LatencyMS)
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s was delivered: %s after %d ms\n", r.Event, said, r.LatencyMS)
		return err
	})
}

func webhookReplayCommand() *cobra.Command {
	var event, status, since, until string
	cmd := onAPI("replay ENDPOINT", "Deliver events to an endpoint again: those that failed, or as the flags say", cobra.ExactArgs(1), func(cmd *cobra.Command, api *countersign.Client, args []string) error {
		body := countersign.WebhookReplayRequest{Event: event, Status: status}
		for flag, into := range map[string]**time.Time{since: &body.Since, until: &body.Until} {
			if flag == "" {
				continue
			}
			at, err := apitime.Parse(flag)
			if err != nil {
				return usage("%q: %v", flag, err)
			}
			*into = &at
		}
		r, err := api.ReplayWebhookEndpoint(cmd.Context(), args[0], &body)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d deliveries to %s are scheduled\n", r.Scheduled, r.Endpoint)
		return err
	})
	cmd.Example = "  countersign webhook replay whe_...                                       # what failed\n" +
		"  countersign webhook replay whe_... --status all --since 2026-11-26T22:00:00Z  # everything since"
	cmd.Flags().StringVar(&event, "event", "", "one event by its id (evt_...)")
	cmd.Flags().StringVar(&status, "status", "", "failed (default), succeeded or all")
	cmd.Flags().StringVar(&since, "since", "", "only events at or after this time, such as 2026-11-26T22:00:00Z")
	cmd.Flags().StringVar(&until, "until", "", "only events before this time")
	return cmd
}
