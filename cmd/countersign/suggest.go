package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// closeness is the most letters by which a name may differ from one that is suggested for it.
const closeness = 2

// reportUsage makes errors of the command line usage errors, which end with exit code 2, and adds what was probably meant. Cobra returns
// plain errors for arguments, and suggests nothing for a command with subcommands that rejects arguments.
func reportUsage(cmd *cobra.Command) {
	cmd.SuggestionsMinimumDistance = closeness
	check := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if cmd.HasSubCommands() && len(args) > 0 {
			return usage("%q is not a command of %s%s; %s --help lists them", args[0], cmd.CommandPath(), meant(cmd, args[0], ""), cmd.CommandPath())
		}
		if check == nil {
			return nil
		}
		if err := check(cmd, args); err != nil {
			return usage("%v; usage: %s", err, cmd.UseLine())
		}
		return nil
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
			err = fmt.Errorf("--%s%s: %w", wrong.GetFlag().Name, quoted(wrong.GetValue()), wrong.Unwrap())
		}
		return usage("%v%s; %s --help lists the flags", err, meantFlag(cmd, err), cmd.CommandPath())
	})
	for _, c := range cmd.Commands() {
		reportUsage(c)
	}
}

// meant returns the commands that a mistyped name may mean, as part of a sentence.
func meant(cmd *cobra.Command, name, prefix string) string {
	var names []string
	for _, s := range cmd.SuggestionsFor(name) {
		names = append(names, prefix+s)
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", strings.Join(names, " or "))
}

// meantFlag is meant for the flag of an "unknown flag" error. It compares by means of a command with the flags as its subcommands.
func meantFlag(cmd *cobra.Command, err error) string {
	_, name, unknown := strings.Cut(err.Error(), "unknown flag: --")
	if !unknown {
		return ""
	}
	flags := &cobra.Command{SuggestionsMinimumDistance: closeness}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		flags.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
	})
	return meant(flags, name, "--")
}
