package browser_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/stretchr/testify/require"
)

// weightsEnv names the file to which TestPageWeights writes its table; without it the test writes none.
const weightsEnv = "COUNTERSIGN_PAGE_WEIGHTS"

// maxTransferred is the largest size of a page with everything that it loads, in bytes.
const maxTransferred = 96 << 10

// weight measures the first visit to a page. Times are in milliseconds from the request.
type weight struct {
	Transferred, Requests   int
	Response, Ready, Loaded float64
}

// weigh opens a page without the browser's cache.
func (b *tab) weigh(p pageState) (w weight) {
	b.t.Helper()
	b.run(network.SetCacheDisabled(true))
	b.open(p.path)
	b.see(p.text)
	b.until(`performance.getEntriesByType("navigation")[0].loadEventEnd > 0`)
	b.eval(`(() => {
		const [page] = performance.getEntriesByType("navigation"), loaded = performance.getEntriesByType("resource");
		return {
			transferred: loaded.reduce((sum, r) => sum + r.transferSize, page.transferSize), requests: loaded.length + 1,
			response: page.responseEnd - page.requestStart, ready: page.domContentLoadedEventEnd - page.requestStart, loaded: page.loadEventEnd - page.requestStart,
		};
	})()`, &w)
	b.run(network.SetCacheDisabled(false))
	return w
}

// Every page is small with all styles, scripts and data that it loads. With a file for it, a table says what each page transfers and how long
// it takes to open: for its times the pages are opened one after the other.
func TestPageWeights(t *testing.T) {
	t.Parallel()
	table := "| page | transferred | requests | response | ready | loaded |\n|---|---:|---:|---:|---:|---:|\n"
	for _, v := range visitors(newPopulated(t)) {
		b := v.enter(t)
		b.expect("status of 4")
		for _, p := range v.pages(t) {
			if p.then != nil {
				b.show(p) // later pages may depend on it; its first state is a page of its own
				continue
			}
			w := b.weigh(p)
			require.Positive(t, w.Transferred, p.name)
			require.Less(t, w.Transferred, maxTransferred, p.name)
			table += fmt.Sprintf("| `%s` | %.1f KiB | %d | %.0f ms | %.0f ms | %.0f ms |\n", p.name, float64(w.Transferred)/1024, w.Requests, w.Response, w.Ready, w.Loaded)
		}
	}
	if file := os.Getenv(weightsEnv); file != "" {
		require.NoError(t, os.WriteFile(file, []byte(strings.TrimSpace(table)+"\n"), 0o644))
	}
}
