// Package signin has the pages of signing in, by passkey or identity provider, of joining by an invitation, and of the identity providers.
package signin

import (
	"embed"

	"github.com/countersign-dev/countersign/internal/account/sso"
	"github.com/countersign-dev/countersign/web/console/shell"
)

//go:embed all:templates
var templates embed.FS

// Pages are the pages of signing in.
type Pages struct {
	*shell.Shell
	SSO *sso.Service
}

// Record declares the pages: their routes, templates and entry of the navigation.
func (c *Pages) Record() shell.Record {
	return shell.Record{
		Templates: templates,
		Lines: []shell.Line{
			shell.See("/sign-in", "sign_in", shell.Open, c.signInPage),
			shell.Change("/sign-in/options", "sign_in_options", shell.Open, c.signInOptions),
			shell.Change("/sign-in", "sign_in_complete", shell.Open, c.signIn),
			shell.Change("/sign-out", "sign_out", shell.Open, c.signOut),
			shell.See("/sign-in/:tenant/:provider", "provider_start", shell.Open, c.providerStart),
			shell.See("/sign-in/:tenant/:provider/callback", "provider_callback", shell.Open, c.providerCallback),
			shell.Receive("/sign-in/:tenant/:provider/logout", "provider_logout", shell.Open, c.providerLogout),
			shell.See("/:environment/single-sign-on", "providers", shell.ReadConfig, c.providers),
			shell.See("/:environment/single-sign-on/test", "provider_test", shell.ManageCredentials, c.testProvider),
			shell.Change("/first-passkey", "first_passkey", shell.SignedIn, c.firstPasskey),
			shell.See("/invitation", "invitation", shell.Open, c.invitationPage),
			shell.Change("/invitation/look", "invitation_look", shell.Open, c.look),
			shell.Change("/invitation/options", "invitation_options", shell.Open, c.invitationOptions),
			shell.Change("/invitation", "invitation_complete", shell.Open, c.join),
			shell.Change("/:environment/confirm/options", "confirm_options", shell.AnyRole, c.confirmOptions),
			shell.Change("/:environment/confirm", "confirm", shell.AnyRole, c.confirm),
		},
	}
}
