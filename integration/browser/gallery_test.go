package browser_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// galleryEnv names the folder to which TestGallery writes; without it the test is skipped.
const galleryEnv = "COUNTERSIGN_SCREENSHOTS"

// picture writes what the window shows as WebP and returns its size in bytes.
func (b *tab) picture(path string) (size int64) {
	b.t.Helper()
	b.run(chromedp.ActionFunc(func(ctx context.Context) error {
		image, err := page.CaptureScreenshot().WithFormat(page.CaptureScreenshotFormatWebp).WithQuality(45).Do(ctx)
		size = int64(len(image))
		return errors.Join(err, os.WriteFile(path, image, 0o644))
	}))
	return size
}

// maxGallery is the largest size of the folder, in bytes: it is part of every clone.
const maxGallery = 4 << 20

// TestGallery writes a picture of each page in each state, on a desktop in light and on a phone in dark colours.
func TestGallery(t *testing.T) {
	t.Parallel()
	folder := os.Getenv(galleryEnv)
	if folder == "" {
		t.Skip("run make screenshots")
	}
	old, err := filepath.Glob(filepath.Join(folder, "*.webp"))
	require.NoError(t, err)
	for _, picture := range old {
		require.NoError(t, os.Remove(picture)) // of a page that may no longer exist
	}
	w := newPopulated(t)
	size := int64(0)
	for _, v := range visitors(w) {
		b := v.enter(t)
		b.expect("status of 4")
		for _, p := range v.pages(t) {
			b.show(p)
			for i, width := range widths {
				b.size(width, []int64{844, 800}[i])
				b.dark(width < 600)
				size += b.picture(filepath.Join(folder, fmt.Sprintf("%s-%d.webp", p.name, width)))
			}
			b.dark(false)
		}
	}
	require.Less(t, size, int64(maxGallery), "make the pictures smaller")
}
