package browser_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

// galleryEnv names the folder to which TestGallery writes; without it the test is skipped.
const galleryEnv = "COUNTERSIGN_SCREENSHOTS"

// picture writes what the window shows as WebP.
func (b *tab) picture(path string) {
	b.t.Helper()
	b.run(chromedp.ActionFunc(func(ctx context.Context) error {
		image, err := page.CaptureScreenshot().WithFormat(page.CaptureScreenshotFormatWebp).WithQuality(60).Do(ctx)
		if err != nil {
			return err
		}
		return os.WriteFile(path, image, 0o644)
	}))
}

// TestGallery writes a picture of each page, on a desktop in light and on a phone in dark colours, with an index of them.
func TestGallery(t *testing.T) {
	t.Parallel()
	folder := os.Getenv(galleryEnv)
	if folder == "" {
		t.Skip("run make screenshots")
	}
	w := newPopulated(t)
	b := newTab(t)
	b.expect("status of 404")
	b.enter(w.world, "Olga Operator-Reviewer", models.RoleReviewer, models.RoleOperator, models.RoleAuditor)
	pages := docsPages
	pages = append(pages, struct{ name, path, text string }{"try", "/try", "Can a service know you"})
	for _, p := range w.pages() {
		if p.name != "absent" {
			pages = append(pages, struct{ name, path, text string }{"console-" + p.name, p.path, p.text})
		}
	}
	index := "# Screenshots\n\n`make screenshots` writes these pictures from the tests' data: each page on a desktop, light, and on a phone, dark.\n"
	for _, p := range pages {
		b.open(p.path)
		b.see(p.text)
		for i, width := range widths {
			b.size(width, []int64{844, 800}[i])
			b.dark(width < 600)
			b.picture(filepath.Join(folder, fmt.Sprintf("%s-%d.webp", p.name, width)))
		}
		index += fmt.Sprintf("\n## %s\n\n![%s on a desktop](%s-1280.webp) ![%s on a phone](%s-390.webp)\n", p.name, p.name, p.name, p.name, p.name)
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder, "README.md"), []byte(index), 0o644))
}
