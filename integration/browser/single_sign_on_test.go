package browser_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/integration/apitest"
	"github.com/countersign-dev/countersign/internal/account/sso"
	"github.com/countersign-dev/countersign/models"
)

// A person signs in with the button of their company's identity provider, which is the npm package oidc-provider, registers a
// passkey, and reviews a hold with it. Someone without the group is refused on a page that says so.
func TestConsoleSignInWithAnIdentityProvider(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	const secret = "a secret of tests only"
	label := "Company " + unique()
	here := shared.SSO.AddressesOf(w.TenantID, "company")
	issuers := apitest.OIDCProviders(t, filepath.Join("..", "testdata", "oidcprovider"), object{
		"client_id": "countersign", "client_secret": secret, "redirect_uris": []string{here.Callback}, "backchannel_logout_uri": here.Logout,
	})
	settings := sso.Settings{
		Name: "company", Label: label, Issuer: issuers[0], ClientID: "countersign", ClientSecret: secret, Scopes: []string{"groups"}, Listed: true,
		Grants: []models.ProviderGrant{{Group: "leads", Environment: w.ID, Roles: []models.Role{models.RoleReviewer}}},
	}
	_, err := shared.SSO.Set(t.Context(), w.TenantID, settings, "cli:test")
	require.NoError(t, err)
	button := `a[href^="` + sso.Path(w.TenantID, "company") + `"]`
	held, _ := w.holdOf(t, w.payments(t, holding))

	b := newTab(t)
	b.expect("request to another host: " + issuers[0])
	b.open(w.console("reviews", held))
	b.see("Sign in with " + label)
	b.requireKeyboard()
	b.eachLook(func(look string) {
		b.requireNoOverflow()
		b.requireClean()
		b.screenshot("console-sign-in-provider-" + look)
	})
	b.click(button)
	b.see("Why it is held")
	require.Equal(t, w.console("reviews", held), b.address(), "the page that was asked for")
	b.see("Ada Lovelace")
	b.see("You have no passkey yet")
	b.requireFits()
	b.requireClean()
	b.screenshot("console-first-passkey")
	b.authenticator(true)
	b.click(`form[action="/console/first-passkey"] button`)
	b.click("[data-start]")
	b.until(`document.querySelector("[data-console]")`)
	b.open(w.console("reviews", held))
	b.review("[data-approve]", "This hold is approved")

	operator := newTab(t)
	operator.enter(w, "Olga Operator", models.RoleOperator)
	operator.expect("request to another host: " + issuers[0])
	operator.open(w.console("people"))
	operator.click(`a[href$="/single-sign-on"]`)
	operator.see("leads: reviewer")
	operator.see(here.Callback)
	operator.eachLook(func(look string) {
		operator.requireNoOverflow()
		operator.requireClean()
		operator.screenshot("single-sign-on-" + look)
	})
	operator.click(`a[href$="/test?provider=company"]`)
	operator.see("The sign-in works")
	operator.see("Ada Lovelace")
	operator.see("reviewer in")
	operator.requireFits()
	operator.requireClean()
	operator.screenshot("single-sign-on-tested")
	operator.click("main .button.primary")
	operator.see("Olga Operator") // still signed in as before

	b.expect("status of 401") // the change ends the sessions that the provider began
	settings.Grants[0].Group = "directors"
	_, err = shared.SSO.Set(t.Context(), w.TenantID, settings, "cli:test")
	require.NoError(t, err)
	stranger := newTab(t)
	stranger.expect("request to another host: " + issuers[0])
	stranger.expect("status of 403")
	stranger.open("/console/sign-in")
	stranger.click(button)
	stranger.see("None of your groups")
	stranger.requireFits()
	stranger.requireClean()
	stranger.screenshot("console-sign-in-refused")
}
