package tenancy_test

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
)

// drawing returns a PNG of that size.
func drawing(t *testing.T, width, height int) []byte {
	t.Helper()
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	img.SetNRGBA(1, 1, color.NRGBA{R: 200, A: 255})
	var out bytes.Buffer
	require.NoError(t, png.Encode(&out, img))
	return out.Bytes()
}

func encoded(b []byte) *string {
	text := base64.StdEncoding.EncodeToString(b)
	return &text
}

func TestUpdateBrandChangesGivenFieldsOnly(t *testing.T) {
	t.Parallel()
	svc, st := service(t)
	made, err := svc.Create(t.Context(), tenancy.Spec{Name: "Example Bank", RPID: "bank.example", Origins: []string{"https://bank.example"}}, "cli:tenant create")
	require.NoError(t, err)
	scope := storetest.Scope(made.Live)
	update := func(b tenancy.Brand) {
		t.Helper()
		_, err := svc.UpdateSettings(t.Context(), scope, tenancy.Settings{"brand": b}, "cli:tenant brand", "")
		require.NoError(t, err)
	}
	name, accent, language, none := "Alder", "#0F5C5C", "de", ""
	logo := append(drawing(t, 64, 32), "<script>alert(1)</script>"...)
	update(tenancy.Brand{Name: &name, Logo: encoded(logo)})
	update(tenancy.Brand{Accent: &accent, Language: &language})

	env, err := tenancy.BrandedEnvironment(t.Context(), st.Q, scope)
	require.NoError(t, err)
	require.Equal(t, "Alder", env.Brand.Name)
	require.Equal(t, "#0f5c5c", env.Brand.Accent)
	require.Equal(t, "de", env.Brand.Language)
	require.NotContains(t, string(env.Brand.Logo), "script", "what follows the image is dropped")
	config, err := png.DecodeConfig(bytes.NewReader(env.Brand.Logo))
	require.NoError(t, err)
	require.Equal(t, 64, config.Width)

	update(tenancy.Brand{Logo: &none, Name: &none})
	env, err = tenancy.BrandedEnvironment(t.Context(), st.Q, scope)
	require.NoError(t, err)
	require.Empty(t, env.Brand.Logo)
	require.Empty(t, env.Brand.Name)
	require.Equal(t, "#0f5c5c", env.Brand.Accent)
	other, err := tenancy.BrandedEnvironment(t.Context(), st.Q, storetest.Scope(made.Sandbox))
	require.NoError(t, err)
	require.Empty(t, other.Brand)
}

func TestUpdateBrandRefusesWithTheRule(t *testing.T) {
	t.Parallel()
	svc, _ := service(t)
	made, err := svc.Create(t.Context(), tenancy.Spec{Name: "Example Bank", RPID: "bank.example", Origins: []string{"https://bank.example"}}, "cli:tenant create")
	require.NoError(t, err)
	text := func(s string) *string { return &s }
	for name, c := range map[string]struct {
		brand tenancy.Brand
		want  string
	}{
		"a colour that is too light": {tenancy.Brand{Accent: text("#ffcc00")}, "has a contrast of 1.36:1 with the pages' background #f0f3f4; WCAG 2.2 requires 4.5:1. Choose a darker colour, such as #"},
		"a name of a colour":         {tenancy.Brand{Accent: text("red")}, "# and six hex digits"},
		"a style in the colour":      {tenancy.Brand{Accent: text("#000;}*")}, "# and six hex digits"},
		"a long name":                {tenancy.Brand{Name: text(strings.Repeat("ä", 61))}, "brand.name has 61 characters; it must have at most 60"},
		"a bidi override":            {tenancy.Brand{Name: text("a\u202eb")}, "U+202E at position 1"},
		"an unknown language":        {tenancy.Brand{Language: text("xx")}, "brand.language must be one of ar, de, en, es, fr"},
		"an SVG":                     {tenancy.Brand{Logo: encoded([]byte(`<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>`))}, "is not a PNG. Other formats, such as SVG"},
		"no base64":                  {tenancy.Brand{Logo: text("%%%")}, "is not base64"},
		"a small logo":               {tenancy.Brand{Logo: encoded(drawing(t, 64, 8))}, "has 64 by 8 pixels; each side must have 16 to 1024"},
		"a large logo":               {tenancy.Brand{Logo: encoded(drawing(t, 1025, 64))}, "has 1025 by 64 pixels"},
		"a heavy file":               {tenancy.Brand{Logo: encoded(append(drawing(t, 64, 64), make([]byte, 33<<10)...))}, "is larger than 32 KiB"},
		"a damaged file":             {tenancy.Brand{Logo: encoded(drawing(t, 64, 64)[:60])}, "is a damaged PNG"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := svc.UpdateSettings(t.Context(), storetest.Scope(made.Live), tenancy.Settings{"brand": c.brand}, "cli:tenant brand", "")
			require.NotNil(t, problem.As(err), "%v", err)
			require.Contains(t, problem.As(err).Fields[0].Msg, c.want)
		})
	}
}
