package browser_test

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"testing"

	"github.com/stretchr/testify/require"
)

// logo returns a PNG of one colour, base64.
func logo(t testing.TB) string {
	t.Helper()
	img := image.NewNRGBA(image.Rect(0, 0, 160, 48))
	draw.Draw(img, img.Bounds(), image.NewUniform(color.NRGBA{R: 0x6b, G: 0x2f, B: 0xb3, A: 255}), image.Point{}, draw.Src)
	var out bytes.Buffer
	require.NoError(t, png.Encode(&out, img))
	return base64.StdEncoding.EncodeToString(out.Bytes())
}

// branded requires the name, the logo and the colour of the brand.
func (b *tab) branded() {
	b.t.Helper()
	b.until(`document.querySelector(".logo")?.naturalWidth === 160`)
	require.Equal(b.t, "Alder", b.text(".customer bdi"))
	b.until(`matchMedia("(prefers-color-scheme: dark)").matches || getComputedStyle(document.documentElement).getPropertyValue("--accent") === "#6b2fb3"`)
}

// The customer's name, logo and colour lead on every hosted page. What a passkey signs stays as it is.
func TestHostedPagesShowTheCustomersBrand(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject := w.subject(t)
	asked := w.paying(t, subject, "challenge", challenging)
	view := "/api/v1/challenges/" + asked.string("challenge.id")
	before := w.get(t, view).is(200).string("display.details_digest")
	w.do(t, "PATCH", "/api/v1/environment", object{"brand": object{"name": "Alder", "accent": "#6b2fb3", "logo": logo(t), "language": "de"}}).is(200)
	require.Equal(t, before, w.get(t, view).is(200).string("display.details_digest"))
	require.Equal(t, "Alder Bank", w.get(t, view).is(200).string("display.requesting_application"), "the signed name is rp_name")

	b := newTab(t)
	b.speaks("ja,ko") // so that the environment's language is used
	b.open(w.link(t, asked.string("challenge.id"), nil))
	b.see("Alder bittet Sie um Bestätigung")
	b.eachLook(func(look string) {
		b.branded()
		b.requireNoOverflow()
		b.requireAccessible()
		b.screenshot("challenge-brand-" + look)
	})
	b.click("[data-confirm]")
	b.seeEnding("Sie haben die Anfrage von Alder bestätigt.")

	b.authenticator(true)
	b.open(w.grant(t, subject, ""))
	b.see("Alder bittet Sie:")
	b.eachLook(func(look string) {
		b.branded()
		b.requireNoOverflow()
		b.requireAccessible()
		b.screenshot("register-brand-" + look)
	})
	b.click("[data-create]")
	b.see("Ihr Passkey ist bereit")

	late := w.subject(t)
	path := w.grant(t, late, "")
	ended(t, endGrant, late)
	b.open(path)
	b.see("Dieser Link ist abgelaufen")
	b.branded() // a link that has ended, too
}
