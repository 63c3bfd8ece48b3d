package browser_test

import (
	"context"
	_ "embed"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// offline disconnects or reconnects the tab's network.
func (b *tab) offline(on bool) {
	b.t.Helper()
	b.run(network.EmulateNetworkConditions(on, 0, -1, -1))
}

// busy responds 503 to the first n requests to URLs of the pattern.
func (b *tab) busy(pattern string, n int) {
	b.t.Helper()
	b.intercept(&fetch.RequestPattern{URLPattern: pattern}, n, func(id fetch.RequestID) chromedp.Action { return fetch.FulfillRequest(id, 503) })
}

// lose fails the first n requests to URLs of the pattern, or their responses.
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
		go func() { _ = chromedp.Run(b.ctx, answer) }() // a listener must not block
	})
	b.run(fetch.Enable().WithPatterns([]*fetch.RequestPattern{pattern}))
}

// cookie returns a cookie of the service.
func (b *tab) cookie(name string) *network.Cookie {
	b.t.Helper()
	var found *network.Cookie
	b.run(chromedp.ActionFunc(func(ctx context.Context) error {
		all, err := network.GetCookies().WithURLs([]string{shared.baseURL}).Do(ctx)
		for _, c := range all {
			if c.Name == name {
				found = c
			}
		}
		return err
	}))
	require.NotNil(b.t, found, "there is no cookie %s", name)
	return found
}
