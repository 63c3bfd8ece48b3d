package browser_test

import (
	"context"
	_ "embed"

	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"
)

// authenticator is a virtual passkey device of one tab.
type authenticator struct {
	b  *tab
	id webauthn.AuthenticatorID
}

// authenticator adds a device to the tab: built in, with resident keys and automatic presence. verifies is whether it supports
// user verification.
func (b *tab) authenticator(verifies bool) authenticator {
	b.t.Helper()
	made := authenticator{b: b}
	b.run(webauthn.Enable(), chromedp.ActionFunc(func(ctx context.Context) (err error) {
		made.id, err = webauthn.AddVirtualAuthenticator(&webauthn.VirtualAuthenticatorOptions{
			Protocol: webauthn.AuthenticatorProtocolCtap2, Transport: webauthn.AuthenticatorTransportInternal,
			HasResidentKey: true, HasUserVerification: verifies, IsUserVerified: verifies, AutomaticPresenceSimulation: true,
		}).Do(ctx)
		return err
	}))
	return made
}

// verifies sets whether the device verifies its user.
func (a authenticator) verifies(yes bool) {
	a.b.t.Helper()
	a.b.run(webauthn.SetUserVerified(a.id, yes))
}

// credentials returns the device's passkeys.
func (a authenticator) credentials() []*webauthn.Credential {
	a.b.t.Helper()
	var held []*webauthn.Credential
	a.b.run(chromedp.ActionFunc(func(ctx context.Context) (err error) {
		held, err = webauthn.GetCredentials(a.id).Do(ctx)
		return err
	}))
	return held
}

// remove removes the device.
func (a authenticator) remove() {
	a.b.t.Helper()
	a.b.run(webauthn.RemoveVirtualAuthenticator(a.id))
}
