package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/authz/lists"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/displaytext"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

func listCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "Manage the lists of values that rules read", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(listCreateCommand(), listShowCommand(), listEntriesCommand(), listAddCommand(), listRemoveCommand(), listImportCommand(), listExportCommand(),
		listDeleteCommand())
	return cmd
}

// onList makes a command about the list that its first argument names, by name or id.
func onList(use, short string, args cobra.PositionalArgs, run func(cmd *cobra.Command, api *countersign.Client, l countersign.NamedList, args []string) error) *cobra.Command {
	return onAPI(use, short, args, func(cmd *cobra.Command, api *countersign.Client, args []string) error {
		found, err := listsOf(cmd, api, args[0])
		if err != nil {
			return err
		}
		return run(cmd, api, found[0], args[1:])
	})
}

// listsOf returns the list with a name or id, or all for "".
func listsOf(cmd *cobra.Command, api *countersign.Client, name string) ([]countersign.NamedList, error) {
	var found []countersign.NamedList
	for l, err := range api.AllLists(cmd.Context(), countersign.ListListsParams{}) {
		if err != nil {
			return nil, err
		}
		if name == "" || l.Name == name || l.ID == name {
			found = append(found, l)
		}
	}
	if name != "" && len(found) == 0 {
		return nil, fmt.Errorf("the environment has no list %q: countersign list show lists them", name)
	}
	return found, nil
}

// reportList prints what became of a change of a list. One that waits for a second approver is no failure.
func reportList(cmd *cobra.Command, l *countersign.NamedList, err error) error {
	var waits *countersign.ApprovalRequiredError
	switch {
	case errors.As(err, &waits):
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "waits for a second approver: %s, until %s\n", waits.Change.ID, apitime.Time(waits.Change.ExpiresAt))
	case err == nil:
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: version %d, %d entries\n", l.Name, l.Version, l.Entries)
	}
	return err
}

func listCreateCommand() *cobra.Command {
	var in countersign.NamedListCreate
	var kind string
	cmd := onAPI("create NAME", "Create a list without entries", cobra.ExactArgs(1), func(cmd *cobra.Command, api *countersign.Client, args []string) error {
		in.Name, in.Kind = args[0], countersign.NamedListKind(kind)
		l, err := api.CreateList(cmd.Context(), in)
		return reportList(cmd, l, err)
	})
	cmd.Example = "  countersign list create blocked_countries --kind country\n  countersign list create trusted_payees --personal"
	cmd.Flags().StringVar(&kind, "kind", string(countersign.NamedListKindText), "text, country or iban_prefix")
	cmd.Flags().BoolVar(&in.Personal, "personal", false, "the values are about people: they are stored as digests, which no one can read or export")
	cmd.Flags().StringVar(&in.Description, "description", "", "what the list is for")
	return cmd
}

func listShowCommand() *cobra.Command {
	return onAPI("show [NAME]", "Show the lists, or one of them", cobra.MaximumNArgs(1), func(cmd *cobra.Command, api *countersign.Client, args []string) error {
		shown, err := listsOf(cmd, api, strings.Join(args, ""))
		if err != nil {
			return err
		}
		return table(cmd.OutOrStdout(), "NAME\tKIND\tPERSONAL\tENTRIES\tVERSION\tCREATED\tBY\tDESCRIPTION", func(w io.Writer) error {
			for _, l := range shown {
				_, _ = fmt.Fprintf(w, "%s\t%s\t%t\t%d\t%d\t%s\t%s\t%s\n", l.Name, l.Kind, l.Personal, l.Entries, l.Version, apitime.Time(l.CreatedAt), l.CreatedBy, l.Description)
			}
			return nil
		})
	})
}

func listEntriesCommand() *cobra.Command {
	var value string
	cmd := onList("entries NAME", "List the entries of a list, newest first", cobra.ExactArgs(1), func(cmd *cobra.Command, api *countersign.Client, l countersign.NamedList, _ []string) error {
		return table(cmd.OutOrStdout(), "ENTRY\tVALUE\tREASON\tEXPIRES\tADDED\tBY", func(w io.Writer) error {
			for e, err := range api.AllListEntries(cmd.Context(), l.ID, countersign.ListListEntriesParams{Value: value, Limit: 200}) {
				if err != nil {
					return err
				}
				shown := "(digest)"
				if !l.Personal {
					shown = displaytext.Readable(e.Value)
				}
				_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", e.ID, shown, e.Reason, timeOrDash(e.ExpiresAt), apitime.Time(e.AddedAt), e.AddedBy)
			}
			return nil
		})
	})
	cmd.Flags().StringVar(&value, "value", "", "only entries that have this value and, of a list that is not personal, those that contain it")
	return cmd
}

func listAddCommand() *cobra.Command {
	var reason, expires string
	cmd := onList("add NAME VALUE", "Add a value to a list, or give it another reason and expiry", cobra.ExactArgs(2), func(cmd *cobra.Command, api *countersign.Client, l countersign.NamedList, args []string) error {
		entry := countersign.NamedListAdded{Value: args[0], Reason: reason}
		if expires != "" {
			at, err := apitime.Parse(expires)
			if err != nil {
				return usage("--expires is %q: %v", expires, err)
			}
			entry.ExpiresAt = &at
		}
		made, err := api.ChangeListEntries(cmd.Context(), l.ID, countersign.NamedListChange{Add: []countersign.NamedListAdded{entry}})
		return reportList(cmd, made, err)
	})
	cmd.Example = "  countersign list add blocked_countries KP --reason 'Sanctions.' --expires 2027-01-01T00:00:00Z"
	cmd.Long = cmd.Short + ".\nOther users of the machine can read a command line: add values about people with countersign list import."
	cmd.Flags().StringVar(&reason, "reason", "", "why the value is in the list")
	cmd.Flags().StringVar(&expires, "expires", "", "when the entry expires, such as 2027-01-01T00:00:00Z; never by default")
	return cmd
}

func listRemoveCommand() *cobra.Command {
	var id string
	cmd := onList("remove NAME [VALUE]", "Remove a value, or the entry of --id, from a list", cobra.RangeArgs(1, 2), func(cmd *cobra.Command, api *countersign.Client, l countersign.NamedList, args []string) error {
		if (id == "") == (len(args) == 0) {
			return usage("give the value to remove or --id, and not both")
		}
		removed := countersign.NamedListRemoved{ID: id}
		if id == "" {
			removed.Value = args[0]
		}
		made, err := api.ChangeListEntries(cmd.Context(), l.ID, countersign.NamedListChange{Remove: []countersign.NamedListRemoved{removed}})
		return reportList(cmd, made, err)
	})
	cmd.Flags().StringVar(&id, "id", "", "the entry to remove (lse_...), such as one of a personal list")
	return cmd
}

func listDeleteCommand() *cobra.Command {
	return onList("delete NAME", "Delete a list, which no active policy may read, with its entries", cobra.ExactArgs(1), func(cmd *cobra.Command, api *countersign.Client, l countersign.NamedList, _ []string) error {
		err := api.DeleteList(cmd.Context(), l.ID)
		if err != nil {
			return reportList(cmd, nil, err)
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is deleted\n", l.Name)
		return err
	})
}

func listImportCommand() *cobra.Command {
	cmd := onList("import NAME FILE", "Add the values of a file to a list", cobra.ExactArgs(2), func(cmd *cobra.Command, api *countersign.Client, l countersign.NamedList, args []string) error {
		entries, err := loadEntries(args[0], string(l.Kind), clock.System().Now())
		if err != nil {
			return usage("%s: %v\nnothing was imported", args[0], err)
		}
		done := 0
		for batch := range slices.Chunk(entries, lists.MaxEdit) {
			made, err := api.ChangeListEntries(cmd.Context(), l.ID, countersign.NamedListChange{Add: batch})
			if err := reportList(cmd, made, err); err != nil {
				return fmt.Errorf("the first %d of %d entries are imported, and importing the file again continues: %w", done, len(entries), err)
			}
			done += len(batch)
		}
		return nil
	})
	cmd.Long = cmd.Short + ".\n" +
		"The file is CSV with the columns value, reason and expires_at, or JSON lines with the same properties; the last may be missing or empty. Files\n" +
		"of list export can be imported. Every line is checked first: if one is wrong, nothing is imported. Entries are added 500 at a time."
	cmd.Example = "  countersign list import trusted_payees payees.csv --environment live"
	return cmd
}

func listExportCommand() *cobra.Command {
	var out, format string
	cmd := onList("export NAME", "Write the entries of a list as CSV or JSON lines", cobra.ExactArgs(1), func(cmd *cobra.Command, api *countersign.Client, l countersign.NamedList, _ []string) error {
		if out != "" {
			format = strings.TrimPrefix(filepath.Ext(out), ".")
		}
		if format != csvFile && format != linesFile {
			return usage("the format is %q: want csv or jsonl, by the name of the file of --out or by --format", format)
		}
		if l.Personal {
			_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "%s is personal: its values are stored as digests and are not in the file. Their key is that of this list, so that they mean nothing elsewhere.\n", l.Name)
		}
		return output(cmd, out, func(into io.Writer) error {
			return writeEntries(into, format, api.AllListEntries(cmd.Context(), l.ID, countersign.ListListEntriesParams{Limit: 200}))
		})
	})
	cmd.Flags().StringVar(&out, "out", "", "new file to write, readable by its owner only: .csv or .jsonl; standard output if not given")
	cmd.Flags().StringVar(&format, "format", csvFile, "csv or jsonl, for standard output")
	return cmd
}

// timeText is a time as files have it; empty for none.
func timeText(t *time.Time) string {
	if t == nil {
		return ""
	}
	return apitime.Time(*t)
}
