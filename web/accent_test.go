package web_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/colour"
	"github.com/countersign-dev/countersign/web"
)

func TestAccentStylesCanBeRead(t *testing.T) {
	t.Parallel()
	app := site(t, "https://countersign.example")
	backgrounds := [][]string{{"#ffffff", "#f0f3f4", "#f4f6f7"}, {"#172125", "#111a1d", "#0e1518"}} // of base.css, light and dark
	property := regexp.MustCompile(`--accent:(#\w+);--accent-strong:(#\w+);--accent-soft:(#\w+);--on-accent:(#\w+)`)
	for _, accent := range []string{"#0f5c5c", "#a3262a", "#1a5fd0", "#000000", "#ffcc00", "#ffffff", "#6b2fb3"} {
		resp, body := ask(t, app, "GET", web.AccentURL(accent), "")
		require.Equal(t, 200, resp.StatusCode)
		require.Equal(t, "text/css; charset=utf-8", resp.Header.Get("Content-Type"))
		modes := property.FindAllStringSubmatch(body, -1)
		require.Len(t, modes, 2, body)
		for i, m := range modes {
			readable := func(text, background string) {
				a, err := colour.Parse(text)
				require.NoError(t, err)
				b, err := colour.Parse(background)
				require.NoError(t, err)
				require.GreaterOrEqual(t, colour.Contrast(a, b), colour.MinText, "%s: %s on %s", accent, text, background)
			}
			for _, background := range append(backgrounds[i], m[3]) {
				readable(m[1], background)
				readable(m[2], background)
			}
			readable(m[4], m[1])
			readable(m[4], m[2])
		}
	}
	for _, bad := range []string{"red.css", "0f5c5c;x.css", "0f5c5c", "%22.css"} {
		resp, _ := ask(t, app, "GET", "/assets/accent/"+bad, "")
		if bad != "0f5c5c" {
			require.Equal(t, 404, resp.StatusCode, bad)
		}
	}
	require.Empty(t, web.AccentURL(""))
}
