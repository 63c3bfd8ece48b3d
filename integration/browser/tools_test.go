package browser_test

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// axeSource is axe-core 4.14.1 (testdata/axe.LICENSE), the checker of accessibility.
//
//go:embed testdata/axe.min.js
var axeSource string

// axeRun checks against WCAG 2.2 A and AA and the checker's own best practices.
const axeRun = `axe.run(document, {resultTypes: ["violations"]}).then((r) => JSON.stringify(r.violations.map((v) => ({
	id: v.id, impact: v.impact, help: v.help, nodes: v.nodes.map((n) => n.target.join(" ") + ": " + n.failureSummary)}))))`

// accessible requires that axe-core finds no serious or critical fault in the page as it stands. It runs in a world of its
// own, which shares the document but not the page's content security policy.
func (b *tab) accessible() {
	b.t.Helper()
	var found string
	b.run(chromedp.ActionFunc(func(ctx context.Context) error {
		tree, err := page.GetFrameTree().Do(ctx)
		if err != nil {
			return err
		}
		world, err := page.CreateIsolatedWorld(tree.Frame.ID).WithWorldName("axe").Do(ctx)
		if err != nil {
			return err
		}
		if _, err := evaluateIn(ctx, world, axeSource+";null"); err != nil {
			return err
		}
		found, err = evaluateIn(ctx, world, axeRun)
		return err
	}))
	var violations []struct {
		ID, Impact, Help string
		Nodes            []string
	}
	require.NoError(b.t, json.Unmarshal([]byte(found), &violations), "axe answered %s", found)
	var serious []string
	for _, v := range violations {
		line := fmt.Sprintf("%s (%s): %s\n  %s", v.ID, v.Impact, v.Help, strings.Join(v.Nodes, "\n  "))
		if v.Impact == "serious" || v.Impact == "critical" {
			serious = append(serious, line)
		} else {
			b.t.Logf("axe: %s", line)
		}
	}
	require.Empty(b.t, serious, "axe finds faults:\n%s", strings.Join(serious, "\n"))
}

func evaluateIn(ctx context.Context, world runtime.ExecutionContextID, expression string) (string, error) {
	result, thrown, err := runtime.Evaluate(expression).WithContextID(world).WithAwaitPromise(true).WithReturnByValue(true).Do(ctx)
	if err != nil {
		return "", err
	}
	if thrown != nil {
		return "", thrown
	}
	var text string
	if len(result.Value) > 0 && string(result.Value) != "null" {
		err = json.Unmarshal(result.Value, &text)
	}
	return text, err
}

// authenticator is a virtual passkey device that lives in one tab.
type authenticator struct {
	b  *tab
	id webauthn.AuthenticatorID
}

// authenticator plugs a device into the tab: built in, keeps resident keys, touches itself; verifies says whether it can
// also tell that the user is the user.
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

// verifies changes whether the device's user is verified when asked.
func (a authenticator) verifies(yes bool) {
	a.b.t.Helper()
	a.b.run(webauthn.SetUserVerified(a.id, yes))
}

// credentials are the passkeys that the device holds.
func (a authenticator) credentials() []*webauthn.Credential {
	a.b.t.Helper()
	var held []*webauthn.Credential
	a.b.run(chromedp.ActionFunc(func(ctx context.Context) (err error) {
		held, err = webauthn.GetCredentials(a.id).Do(ctx)
		return err
	}))
	return held
}

// remove unplugs the device.
func (a authenticator) remove() {
	a.b.t.Helper()
	a.b.run(webauthn.RemoveVirtualAuthenticator(a.id))
}

// busy has the first n requests to URLs of the pattern answered 503 before they reach the service.
func (b *tab) busy(pattern string, n int) {
	b.t.Helper()
	b.intercept(&fetch.RequestPattern{URLPattern: pattern}, n, func(id fetch.RequestID) chromedp.Action { return fetch.FulfillRequest(id, 503) })
}

// lose has the first n requests to URLs of the pattern lost on the way to the service, or their answers on the way back.
func (b *tab) lose(pattern string, n int, stage fetch.RequestStage) {
	b.t.Helper()
	b.expect("net::ERR_CONNECTION_RESET")
	b.intercept(&fetch.RequestPattern{URLPattern: pattern, RequestStage: stage}, n, func(id fetch.RequestID) chromedp.Action {
		return fetch.FailRequest(id, network.ErrorReasonConnectionReset)
	})
}

func (b *tab) intercept(pattern *fetch.RequestPattern, n int, instead func(fetch.RequestID) chromedp.Action) {
	b.t.Helper()
	chromedp.ListenTarget(b.ctx, func(event any) {
		paused, ok := event.(*fetch.EventRequestPaused)
		if !ok {
			return
		}
		answer := chromedp.Action(fetch.ContinueRequest(paused.RequestID))
		if n > 0 {
			n--
			answer = instead(paused.RequestID)
		}
		go func() { _ = chromedp.Run(b.ctx, answer) }() // a listener must not wait for the browser; a request that hangs fails its test
	})
	b.run(fetch.Enable().WithPatterns([]*fetch.RequestPattern{pattern}))
}
