package browser_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/integration/apitest"
	"github.com/countersign-dev/countersign/integration/gatetest"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// A person opens a page of an application that knows nothing of Countersign. The gate in front of it sends them to the hosted page, where they
// confirm with their passkey, and back to the page that they asked for.
func TestStepUpThroughTheGate(t *testing.T) {
	t.Parallel()
	for _, way := range append([]string{"inline"}, gatetest.Proxies...) {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			w := newSandbox(t)
			b, _, subject := registered(t, w)
			_, action := w.relyingParty().CreateAction(t, apitest.Action{Mode: "enforce", Name: "Open the payroll", Consequence: "Salaries are shown.",
				Requirements: object{"coverage_min": "none", "explicit_approval_required": true}})
			issuer := gatetest.StartIssuer(t)
			application := gatetest.StartUpstream(t, "<title>Payroll</title><p>Salaries of March</p>")
			gate := gatetest.StartGate(t, gatetest.Config{ServiceURL: shared.baseURL, Key: w.key, Issuer: issuer, Mode: gatetest.ModeOf(way), Cookie: "session", Upstream: application.URL,
				Routes: fmt.Sprintf(`- {name: payroll, hosts: [localhost], methods: [GET], path: "/payroll/{month}", upstream: UPSTREAM, action: %s, audience: %s, resource: {type: resource, id: request.params.month}, context: {view: request.query.view}}
- {name: icon, hosts: [localhost], path: /favicon.ico, upstream: UPSTREAM, open: true}
`, action, apitest.Audience)})
			port := gate.Inline
			if way != "inline" {
				port = gatetest.StartProxy(t, way, application.Port, gate.ForwardAuth+gate.ExtAuthz).Port
			}
			origin := fmt.Sprintf("http://localhost:%d", port)
			_, err := shared.Tenancy.UpdateSettings(t.Context(), pg.Scope{Tenant: w.TenantID, Environment: w.ID}, tenancy.Settings{"return_origins": []string{origin}}, "cli:test", "")
			require.NoError(t, err)
			b.expect("request to another host: " + origin)
			b.run(chromedp.ActionFunc(func(ctx context.Context) error {
				return network.SetCookie("session", issuer.Token(t, subject, nil)).WithURL(origin).WithHTTPOnly(true).Do(ctx)
			}))

			b.open(origin + "/payroll/2026-03?view=full")
			b.see("waiting for your confirmation at Alder Bank")
			b.click("[data-passkey]")
			b.see("Open the payroll")
			require.Empty(t, reachedPayroll(application), "nothing before the confirmation")
			b.click("[data-passkey]")
			b.seeEnding("Go back to localhost")
			b.leave(`[...document.querySelectorAll("[data-back]")].find((a) => a.offsetParent).click()`)
			b.see("Salaries of March")
			var address string
			b.eval("location.href", &address)
			require.Equal(t, origin+"/payroll/2026-03?view=full", address, "the address is the one that was asked for")
			reached := reachedPayroll(application)
			require.Len(t, reached, 1)
			require.Equal(t, "/payroll/2026-03?view=full", reached[0].Target)
			require.NotEmpty(t, reached[0].Header.Get("Countersign-Proof"))

			b.run(reload) // the approval is used: a new one is needed
			b.see("waiting for your confirmation at Alder Bank")
			require.Empty(t, reachedPayroll(application))
		})
	}
}

// reachedPayroll returns the requests for the payroll that reached the application since the last call.
func reachedPayroll(u *gatetest.Upstream) []gatetest.Reached {
	var out []gatetest.Reached
	for _, r := range u.Take() {
		if strings.HasPrefix(r.Target, "/payroll/") {
			out = append(out, r)
		}
	}
	return out
}
