package browser_test

import (
	"context"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// cookie is a cookie of the service as the browser keeps it.
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
