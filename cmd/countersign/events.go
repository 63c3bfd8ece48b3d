package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

func eventsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "events", Short: "Print events as they happen, send events to a receiver on this machine, export the log to a SIEM", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(eventsListenCommand(), eventsTriggerCommand(), eventsExportCommand())
	return cmd
}

// listener follows the stream of events and prints and forwards each.
type listener struct {
	remote
	pattern string
	asJSON  bool
	forward forwarder
	out     io.Writer // events
	notes   io.Writer // what is said about the connection
}

func eventsListenCommand() *cobra.Command {
	var l listener
	cmd := &cobra.Command{
		Use: "listen", Args: cobra.NoArgs,
		Short: "Print an environment's events as they happen, and with --forward send them to a receiver on this machine, as signed webhooks",
		RunE: func(cmd *cobra.Command, _ []string) error {
			l.out, l.notes = cmd.OutOrStdout(), cmd.OutOrStdout()
			if l.asJSON {
				l.notes = cmd.ErrOrStderr() // the output has events only
			}
			return l.run(cmd.Context())
		},
		Example: "  countersign events listen --type 'hold.*'\n  countersign events listen --forward http://localhost:3000/webhooks",
	}
	cmd.Flags().StringVar(&l.pattern, "type", "", "only events of this type, or of a family such as hold.*")
	cmd.Flags().BoolVar(&l.asJSON, "json", false, "print each event as one line of JSON, as the activity list has it, and nothing else")
	l.forward.flag(cmd)
	l.bind(cmd, serverKey, l.forward.setting())
	return cmd
}

// pause is how long a listener waits before it connects again.
const pause = time.Second

func (l *listener) run(ctx context.Context) error {
	client, err := l.client(ctx)
	if err != nil {
		return err
	}
	if err := l.forward.open(l.notes); err != nil {
		return err
	}
	if _, err := client.GetCredential(ctx); err != nil {
		return err // before the first event: a wrong key or address
	}
	_, _ = fmt.Fprintf(l.notes, "listening to %s; Ctrl-C ends it\n", l.baseURL)
	return l.follow(ctx, client)
}

// follow prints events until ctx ends, and connects again where a stream ended.
func (l *listener) follow(ctx context.Context, client *countersign.Client) error {
	last := ""
	for ctx.Err() == nil {
		for event, err := range client.StreamEvents(ctx, countersign.StreamParams{Type: l.pattern, LastEventID: last}) {
			if ctx.Err() != nil {
				return nil // the operator ended it
			}
			last = event.ID // of an error too: events may follow a position without an event
			if err != nil && !countersign.Unavailable(err) {
				return err
			}
			if err != nil {
				_, _ = fmt.Fprintln(l.notes, "the connection ended; connecting again")
				break
			}
			if err := l.take(ctx, event); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return nil
}

// take prints and forwards one event.
func (l *listener) take(ctx context.Context, e countersign.StreamedEvent) error {
	if e.Resync {
		_, _ = fmt.Fprintln(l.notes, "events were missed: GET /api/v1/activity lists them")
		return nil
	}
	var entry events.Activity
	if err := json.Unmarshal(e.Data, &entry); err != nil {
		return err
	}
	body, err := json.Marshal(events.Message{Type: entry.Type, Timestamp: entry.At, Data: entry.Data})
	if err != nil {
		return err
	}
	line := strings.Join([]string{entry.At, entry.Type, entry.ID, value(entry.Authorization)}, "  ")
	if l.asJSON {
		line = string(e.Data)
	}
	_, _ = fmt.Fprintln(l.out, strings.TrimRight(line, " "))
	l.forward.send(ctx, entry.ID, body)
	return nil
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func eventsTriggerCommand() *cobra.Command {
	var f forwarder
	cmd := &cobra.Command{
		Use: "trigger [TYPE]", Args: cobra.MaximumNArgs(1),
		Short: "Send a sample event to a receiver on this machine, as a signed webhook; without a type, list the types",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return table(cmd.OutOrStdout(), "TYPE\tWHEN", func(w io.Writer) error {
					for _, d := range events.Catalogue() {
						_, _ = fmt.Fprintf(w, "%s\t%s\n", d.Type, d.Description)
					}
					return nil
				})
			}
			return trigger(cmd, &f, args[0])
		},
		Example: "  countersign events trigger hold.approved --forward http://localhost:3000/webhooks",
	}
	f.flag(cmd)
	bind(cmd, f.setting())
	return cmd
}

func trigger(cmd *cobra.Command, f *forwarder, typ string) error {
	d, known := events.Lookup(events.Type(typ))
	if !known || !d.Public {
		return usage("%q is not a type of event%s; countersign events trigger lists them", typ, meantType(typ))
	}
	if f.url == "" {
		return usage("--forward is not set: give the address of the receiver, such as http://localhost:3000/webhooks")
	}
	if err := f.open(cmd.OutOrStdout()); err != nil {
		return err
	}
	message := d.MessageExample()
	message.Timestamp = apitime.Time(clock.System().Now())
	body, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if !f.send(cmd.Context(), newEventID(), body) {
		return errors.New("the receiver did not take the event")
	}
	return nil
}

func meantType(typ string) string {
	types := &cobra.Command{SuggestionsMinimumDistance: closeness}
	for _, d := range events.Catalogue() {
		types.AddCommand(&cobra.Command{Use: string(d.Type), Run: func(*cobra.Command, []string) {}})
	}
	return meant(types, typ, "")
}
