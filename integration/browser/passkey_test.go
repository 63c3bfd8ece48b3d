package browser_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// grant returns the path of the registration page with a new grant for the subject.
func (w world) grant(t testing.TB, subject, returnURL string) string {
	t.Helper()
	token := w.post(t, "/api/v1/subjects/"+subject+"/passkeys/registration-grants", nil).is(201).string("token")
	shared.secret(token)
	return "/register#" + url.Values{"grant": {token}, "return": {returnURL}}.Encode()
}

// register registers a passkey of the subject on the page, with the tab's device.
func (b *tab) register(w world, subject string) {
	b.t.Helper()
	b.open(w.grant(b.t, subject, ""))
	b.click("[data-create]")
	b.see("Your passkey is ready")
}

// registered opens a tab with a device, on which a new subject has registered a passkey.
func registered(t *testing.T, w world) (b *tab, device authenticator, subject string) {
	t.Helper()
	subject, b = w.subject(t), newTab(t)
	device = b.authenticator(true)
	b.register(w, subject)
	return b, device, subject
}

// A grant, a passkey, a challenge, its assertion, the follow-up decision and the proof.
func TestPasskeyRegistrationAndConfirmation(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject := w.subject(t)
	b := newTab(t)
	device := b.authenticator(true)
	b.open(w.grant(t, subject, shared.baseURL+"/try"))
	b.see(subject)
	require.Contains(t, b.text("body"), "Alder Bank asks you to")
	var address string
	b.eval("location.href", &address)
	require.Equal(t, shared.baseURL+"/register", address, "the grant is removed from the address")
	b.requireAccessible()
	b.screenshot("register-open")
	b.size(360, 740)
	b.dark(true)
	b.requireFits()
	b.requireAccessible()
	b.screenshot("register-open-phone-dark")
	b.dark(false)
	b.size(1100, 800)
	b.run(reload)
	b.click("[data-create]") // a reload keeps the grant
	b.see("Your passkey is ready")
	b.until(`document.activeElement.textContent === "Your passkey is ready"`)
	require.Contains(t, b.text("body"), "Go back to localhost")
	b.requireAccessible()
	b.screenshot("register-done")
	require.Len(t, device.credentials(), 1)
	require.Len(t, w.get(t, "/api/v1/subjects/"+subject+"/passkeys").is(200).list(), 1)

	a := w.challenge(t, subject, w.payment(t), nil)
	b.open(a.path)
	b.see("Confirm with your passkey")
	b.requireAccessible()
	b.screenshot("challenge-passkey")
	b.click("[data-passkey]")
	b.seeEnding("You confirmed the request of Alder Bank")
	w.requireAllowed(t, a, "phishing_resistant")
	require.Equal(t, int64(2), device.credentials()[0].SignCount, "the device has signed the registration and one assertion")
}

// Without user verification a device neither registers a passkey nor completes a challenge.
func TestPasskeyRequiresUserVerification(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject := w.subject(t)
	b := newTab(t)
	weak := b.authenticator(false)
	b.open(w.grant(t, subject, ""))
	b.click("[data-create]")
	b.see("No passkey was created")
	b.requireAccessible()
	b.screenshot("register-refused")
	weak.remove()

	device := b.authenticator(true)
	b.register(w, subject)
	device.verifies(false)
	a := w.challenge(t, subject, w.payment(t), nil)
	b.open(a.path)
	b.click("[data-passkey]")
	b.see("No passkey was used")
	b.until(`!document.querySelector("[data-passkey]").disabled && document.activeElement.matches("[data-passkey]")`)
	b.requireAccessible()
	b.screenshot("challenge-not-verified")
	require.Equal(t, "open", w.status(t, a))
	device.verifies(true)
	b.click("[data-passkey]")
	b.seeEnding("You confirmed the request of Alder Bank")
}

// On a device without the passkey the page says so and remains usable.
func TestPasskeyOnAnotherDevice(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	home, _, subject := registered(t, w)
	a := w.challenge(t, subject, w.payment(t), nil)
	b := newTab(t)
	b.authenticator(true)
	b.open(a.path)
	b.click("[data-passkey]")
	b.see("this device has none for Alder Bank")
	require.Equal(t, "open", w.status(t, a))
	home.open(a.path)
	home.click("[data-passkey]")
	home.seeEnding("You confirmed the request of Alder Bank")
	b.seeEnding("You confirmed the request of Alder Bank")
}

// Browsers have one error for a dialog that was closed, a time-out and a device without the passkey. The page distinguishes them, and says what
// to do in each case.
func TestPasskeyFailuresHaveTextsOfTheirOwn(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	b, _, subject := registered(t, w)
	a := w.challenge(t, subject, w.payment(t), nil)
	for name, c := range map[string]struct {
		took, verifies, shown string
	}{
		"closed":       {"2000", "true", "the dialog was closed"},
		"timed out":    {"1e9", "true", "No passkey was used in time"},
		"no passkey":   {"0", "true", "this device has none for Alder Bank"},
		"other device": {"0", "false", "this device cannot check your fingerprint, face or PIN"},
	} {
		t.Run(name, func(t *testing.T) { // one after the other, in one tab
			b.open(a.path)
			b.eval(`PublicKeyCredential.isUserVerifyingPlatformAuthenticatorAvailable = async () => `+c.verifies+`;
				navigator.credentials.get = async () => {
					const now = performance.now.bind(performance);
					performance.now = () => now() + `+c.took+`;
					throw new DOMException("", "NotAllowedError");
				}; 0`, nil)
			b.click("[data-passkey]")
			b.see(c.shown)
			if name != "timed out" {
				b.see("QR code")
			}
			b.requireAccessible()
		})
	}
	require.Equal(t, "open", w.status(t, a))
}

// A refused assertion is counted and reported. The fifth closes the challenge.
func TestPasskeyFailsAfterFiveRefusedAssertions(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	b, _, subject := registered(t, w)
	a := w.challenge(t, subject, w.payment(t), nil)
	b.open(a.path)
	b.until(`!document.querySelector("[data-passkey]").disabled`)
	// The browser changes the device's signature.
	b.eval(`const real = navigator.credentials.get.bind(navigator.credentials);
		navigator.credentials.get = async (o) => {
			const made = await real(o);
			const bent = new Uint8Array(made.response.signature); bent[bent.length - 1] ^= 1;
			Object.defineProperty(made.response, "signature", {value: bent.buffer});
			return made;
		}; null`, nil)
	for n := range 4 {
		b.click("[data-passkey]")
		b.see("Your passkey was not accepted.")
		b.until(`!document.querySelector("[data-passkey]").disabled`)
		if n == 0 {
			b.requireAccessible()
			b.screenshot("challenge-refused")
		}
		b.eval(`document.querySelector("[data-problem]").hidden = true`, nil)
	}
	b.click("[data-passkey]")
	b.see("Stopped for your safety")
	b.requireAccessible()
	b.screenshot("challenge-failed")
	require.Equal(t, "failed", w.status(t, a))
}

func TestPasskeyRevokedDuringTheChallenge(t *testing.T) {
	t.Parallel()
	_, live := newTenant(t, "Alder Bank")
	b, _, subject := registered(t, live)
	a := live.challenge(t, subject, live.payment(t), nil)
	b.open(a.path)
	b.see("Confirm with your passkey")
	require.NotContains(t, strings.ToLower(b.text("body")), "sandbox")
	id := live.get(t, "/api/v1/subjects/"+subject+"/passkeys").is(200).list()[0]["id"].(string)
	live.do(t, "DELETE", "/api/v1/subjects/"+subject+"/passkeys/"+id, nil).is(204)
	b.click("[data-passkey]")
	b.see("does not accept this method")
	b.open(a.path)
	b.see("You have no passkey here")
	b.requireAccessible()
	b.screenshot("challenge-no-passkey")
}

func TestRegistrationLinkIsUsedOnce(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject := w.subject(t)
	b := newTab(t)
	b.authenticator(true)
	b.open("/register")
	b.see("This link is incomplete or mistyped")
	b.requireAccessible()
	b.screenshot("register-bad-link")
	b.open("about:blank")
	b.open("/register#grant=" + unique() + unique() + unique())
	b.see("This link is incomplete or mistyped")

	spent := w.grant(t, subject, "https://evil.example/")
	b.open("about:blank")
	b.open(spent)
	b.click("[data-create]")
	b.see("Your passkey is ready")
	require.NotContains(t, b.text("body"), "Go back", "a foreign return URL is not offered")
	b.open("about:blank")
	b.open(spent)
	b.see("This link has been used")

	b.open("about:blank")
	b.open(w.grant(t, subject, ""))
	b.see("Passkeys so far")
	b.click("[data-create]")
	b.see("This device already has a passkey for this account")
	require.Len(t, w.get(t, "/api/v1/subjects/"+subject+"/passkeys").is(200).list(), 1)
}

// Password managers replace navigator.credentials: what they return may be a plain object, and what they throw may be anything.
func TestPasskeyOfAPasswordManager(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject := w.subject(t)
	b := newTab(t)
	b.authenticator(true)
	b.open(w.grant(t, subject, ""))
	b.eval(`window.real = navigator.credentials.create.bind(navigator.credentials); 0`, nil)
	for name, c := range map[string]struct{ create, says string }{
		"a plain Error":  {`Promise.reject(new Error("extension"))`, "could not"},
		"a text":         {`Promise.reject("extension")`, "could not"},
		"nothing at all": {`Promise.reject(undefined)`, "could not"},
		"a cancellation": {`Promise.reject(Object.assign(new Error("x"), {name: "NotAllowedError"}))`, "No passkey"},
		"no credential":  {`Promise.resolve(null)`, "No passkey"},
		"no response":    {`Promise.resolve({id: "a", rawId: new ArrayBuffer(1), type: "public-key"})`, "could not"},
	} {
		b.eval(`navigator.credentials.create = () => `+c.create+`; document.querySelector("[data-problem]").textContent = ""; 0`, nil)
		b.click("[data-create]")
		require.Eventually(t, func() bool { return strings.Contains(b.text("[data-problem]"), c.says) }, patience, 50*time.Millisecond, name)
	}
	b.eval(`navigator.credentials.create = async (o) => {
		const made = await window.real(o), r = made.response;
		return {id: made.id, rawId: new Uint8Array(made.rawId), type: made.type, toJSON() { throw new Error("toJSON"); },
			response: {clientDataJSON: r.clientDataJSON, attestationObject: new Uint8Array(r.attestationObject)}};
	}; 0`, nil)
	b.click("[data-create]")
	b.see("Your passkey is ready")
}
