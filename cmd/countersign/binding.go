package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/countersign-dev/countersign/internal/subject/upkeep"
)

// setting is one row of the table that flags, environment variables and help are made from.
type setting struct {
	flag     string // empty for a secret
	env      string
	fallback string // used if neither the flag nor the variable is given
	help     string
	parse    parser
}

// parser parses the text of a setting into its field. Its error names the values that it takes.
type parser func(value string) error

// Set implements pflag.Value.
func (p parser) Set(value string) error { return p(value) }

// String implements pflag.Value. The help text of each setting names its default.
func (p parser) String() string { return "" }

// Type implements pflag.Value.
func (p parser) Type() string { return "string" }

func text(into *string) parser {
	return func(value string) error { *into = value; return nil }
}

func boolean(into *bool) parser {
	return func(value string) error {
		switch strings.ToLower(value) {
		case "true", "1", "yes", "on":
			*into = true
		case "", "false", "0", "no", "off":
			*into = false
		default:
			return errors.New("want true or false")
		}
		return nil
	}
}

func integer(into *int, least, most int) parser {
	return func(value string) error {
		n, err := strconv.Atoi(value)
		if err != nil || n < least || n > most {
			return fmt.Errorf("want %d to %d", least, most)
		}
		*into = n
		return nil
	}
}

func between(into *time.Duration, least, most time.Duration) parser {
	return func(value string) error {
		d, err := time.ParseDuration(value)
		if err != nil || d < least || d > most {
			return fmt.Errorf("want %s to %s, such as %s", least, most, least)
		}
		*into = d
		return nil
	}
}

func number(into *int32, least, most int32) parser {
	return func(value string) error {
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil || int32(n) < least || int32(n) > most {
			return fmt.Errorf("want a whole number from %d to %d", least, most)
		}
		*into = int32(n)
		return nil
	}
}

func ratio(into *float64) parser {
	return func(value string) error {
		x, err := strconv.ParseFloat(value, 64)
		if err != nil || !(x >= 0 && x <= 1) { // refuses NaN too
			return errors.New("want a number from 0 to 1")
		}
		*into = x
		return nil
	}
}

func oneOf[T ~string](into *T, values ...T) parser {
	return func(value string) error {
		if !slices.Contains(values, T(value)) {
			return fmt.Errorf("want one of %v", values)
		}
		*into = T(value)
		return nil
	}
}

func level(into *slog.Level) parser {
	return func(value string) error {
		if into.UnmarshalText([]byte(value)) != nil {
			return errors.New("want debug, info, warn or error")
		}
		return nil
	}
}

func networks(into *[]netip.Prefix) parser {
	return func(value string) error {
		*into = nil
		for _, text := range strings.FieldsFunc(value, func(r rune) bool { return r == ',' }) {
			p, err := netip.ParsePrefix(strings.TrimSpace(text))
			if err != nil {
				return errors.New("want networks such as 10.20.0.0/16, separated by commas")
			}
			*into = append(*into, p.Masked())
		}
		return nil
	}
}

func retention(into **upkeep.Retention) parser {
	return func(value string) error {
		r, err := upkeep.ParseRetention(value)
		*into = &r
		return err
	}
}

// bind adds a flag for each setting that is not a secret. Before the command runs, settings without a flag on the command line
// get the value of their environment variable, or their default.
func bind(cmd *cobra.Command, table ...setting) {
	var secrets []string
	for _, t := range table {
		if t.flag != "" {
			cmd.Flags().Var(t.parse, t.flag, fmt.Sprintf("%s (env %s%s)", t.help, t.env, orDefault(t.fallback)))
			continue
		}
		secrets = append(secrets, fmt.Sprintf("  %s or %s_FILE: %s", t.env, t.env, t.help))
	}
	if len(secrets) > 0 {
		cmd.Long = cmp.Or(cmd.Long, cmd.Short+".") + "\n\nSecrets are read from the environment or from files:\n" + strings.Join(secrets, "\n")
	}
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return fill(cmd.Flags(), table, os.LookupEnv) }
}

func orDefault(fallback string) string {
	if fallback == "" {
		return ""
	}
	return ", default " + fallback
}

func fill(flags *pflag.FlagSet, table []setting, lookup func(string) (string, bool)) error {
	for _, t := range table {
		if t.flag != "" && flags.Changed(t.flag) {
			continue // parsed with the command line
		}
		value, err := fromEnvironment(t, lookup)
		if err != nil {
			return err
		}
		if err := t.parse(value); err != nil {
			return usage("%s%s: %v", t.env, quoted(value), err)
		}
	}
	return nil
}

// quoted returns the value of a setting for the sentence that refuses it; nothing if it may contain credentials, as a URL does.
func quoted(value string) string {
	if strings.ContainsAny(value, "@?") {
		return ""
	}
	return fmt.Sprintf(" is %q", value)
}

// fromEnvironment returns the value of a setting's variable, of the file that NAME_FILE names if it is a secret, or the default.
// An empty variable counts as not set.
func fromEnvironment(t setting, lookup func(string) (string, bool)) (string, error) {
	value, _ := lookup(t.env)
	path := ""
	if t.flag == "" {
		path, _ = lookup(t.env + "_FILE")
	}
	switch {
	case value != "" && path != "":
		return "", usage("%s and %s_FILE are both set: set one of them", t.env, t.env)
	case path != "":
		text, err := os.ReadFile(path) // #nosec G304 -- the operator's file
		if err != nil {
			return "", usage("%s_FILE: %v", t.env, err)
		}
		return strings.TrimSpace(string(text)), nil
	case value != "":
		return value, nil
	default:
		return t.fallback, nil
	}
}
