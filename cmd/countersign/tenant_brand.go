package main

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

func tenantBrandCommand() *cobra.Command {
	var name, accent, language, logo string
	cmd := environmentSetting{
		use: "brand", short: "Show or set the name, logo, colour and language of an environment's hosted pages",
		flags: []string{"name", "accent", "language", "logo"},
		change: func(cmd *cobra.Command, c *core, scope pg.Scope) (models.Environment, error) {
			var in tenancy.Brand // a nil field is left unchanged
			given := func(flag string, value *string) *string {
				if !cmd.Flags().Changed(flag) {
					return nil
				}
				return value
			}
			in.Name, in.Accent, in.Language = given("name", &name), given("accent", &accent), given("language", &language)
			if cmd.Flags().Changed("logo") {
				text := ""
				if logo != "" {
					png, err := os.ReadFile(logo) //nolint:gosec // the file that the operator names
					if err != nil {
						return models.Environment{}, err
					}
					text = base64.StdEncoding.EncodeToString(png)
				}
				in.Logo = &text
			}
			return changeSettings(cmd, c, scope, tenancy.Settings{"brand": in})
		},
		describe: brandOf, branded: true,
	}.command()
	cmd.Flags().StringVar(&name, "name", "", "name above the pages; empty for rp_name")
	cmd.Flags().StringVar(&accent, "accent", "", "colour of buttons and links, such as #0f5c5c; empty for the service's own")
	cmd.Flags().StringVar(&language, "language", "", "language for users whose languages the pages do not have; empty for English")
	cmd.Flags().StringVar(&logo, "logo", "", "file with a PNG of at most 32 KiB; empty for none")
	return withReason(cmd)
}

// brandOf describes the look of an environment's hosted pages.
func brandOf(env models.Environment) string {
	logo := "no logo"
	if n := len(env.Brand.Logo); n > 0 {
		logo = fmt.Sprintf("a logo of %d bytes", n)
	}
	return fmt.Sprintf("pages show the name %s, %s\nthe accent colour is %s\nthe default language is %s", cmp.Or(env.Brand.Name, env.RPName), logo,
		cmp.Or(env.Brand.Accent, "the service's own"), cmp.Or(env.Brand.Language, "en"))
}
