package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// version is set by the linker.
var version = unversioned

// unversioned is the version of a binary that the linker was given none for.
const unversioned = "unknown"

// errUsage marks errors of the command line or the settings, which end with exit code 2.
var errUsage = errors.New("usage")

func main() {
	cmd := root()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal removes the handler, so that a second one ends the process at once.
	context.AfterFunc(ctx, stop)
	err := cmd.ExecuteContext(ctx)
	stop()
	if err == nil {
		return
	}
	fmt.Fprintf(os.Stderr, "countersign: %v\n", err)
	if errors.Is(err, errUsage) {
		os.Exit(2)
	}
	os.Exit(1)
}

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "countersign",
		Short:         "Decide whether the person at the keyboard is the one who enrolled, and sign a proof of it",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.CompletionOptions.HiddenDefaultCmd = true
	cmd.AddCommand(devCommand(), demoCommand(), serveCommand(), workerCommand(), healthcheckCommand(), migrateCommand(), tenantCommand(),
		credentialCommand(), personCommand(), teamCommand(), eventsCommand(), configCommand(), keyCommand(), auditCommand(), policyCommand(), accuracyCommand(), backgroundCommand(), capacityCommand(), rolloutCommand(),
		subjectCommand(), listCommand(), webhookCommand(), backlogCommand(), doctorCommand(), versionCommand())
	cmd.PersistentFlags().Bool(quietFlag, false, "show no progress")
	reportUsage(cmd)
	return cmd
}

func versionCommand() *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Print the version", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		_, err := fmt.Fprintln(cmd.OutOrStdout(), version)
		return err
	}}
}

// usageError is an error of the command line or the settings.
type usageError struct{ text string }

func (e usageError) Error() string        { return e.text }
func (e usageError) Is(target error) bool { return target == errUsage }

func usage(format string, args ...any) error { return usageError{fmt.Sprintf(format, args...)} }
