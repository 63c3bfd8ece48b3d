package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/columns"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

func tenantSettingsCommand() *cobra.Command {
	return withReason(onEnvironment("settings [NAME=VALUE ...]", "Show all settings of an environment, or set some", cobra.ArbitraryArgs,
		func(cmd *cobra.Command, c *core, scope pg.Scope, args []string) error {
			in, err := settingsGiven(args)
			if err != nil {
				return err
			}
			env, err := tenancy.GetEnvironment(cmd.Context(), c.Store.Q, scope)
			if err == nil && len(in) > 0 {
				env, err = changeSettings(cmd, c, scope, in)
			}
			if err != nil {
				return err
			}
			table := columns.New(cmd.OutOrStdout())
			for _, s := range models.DeclaredSettings {
				value, err := json.Marshal(s.Value(&env.Settings))
				if err != nil {
					return err
				}
				_, _ = fmt.Fprintf(table, "%s\t%s\n", s.Name, value)
			}
			return table.Flush()
		}))
}

// settingsGiven reads arguments such as hold_ttl_seconds=3600. Items of a list are separated by commas.
func settingsGiven(args []string) (tenancy.Settings, error) {
	in := tenancy.Settings{}
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		if name == "holidays_file" {
			file, err := os.ReadFile(value) //nolint:gosec // the file that the operator names
			if err != nil {
				return nil, usage("holidays_file is %q, which cannot be read: give the path of an iCalendar file", value)
			}
			in[name] = base64.StdEncoding.EncodeToString(file)
			continue
		}
		setting, known := models.SettingNamed(name)
		if !known {
			return nil, usage("%q is not NAME=VALUE with the name of a setting; without arguments the command lists them", arg)
		}
		switch setting.Value(new(models.Settings)).(type) {
		case *models.Strings:
			in[name] = strings.FieldsFunc(value, func(r rune) bool { return r == ',' })
		case *bool, *int:
			in[name] = json.RawMessage(value)
		default:
			in[name] = value
		}
		if raw, is := in[name].(json.RawMessage); is && !json.Valid(raw) {
			return nil, usage("%s is %q, which is not a value of this setting", name, value)
		}
	}
	return in, nil
}
