package colour_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/platform/colour"
)

func parse(t *testing.T, text string) colour.Colour {
	t.Helper()
	c, err := colour.Parse(text)
	require.NoError(t, err)
	return c
}

// The ratios are those of the WebAIM contrast checker.
func TestContrast(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		a, b string
		want float64
	}{
		"black on white":       {"#000000", "#ffffff", 21},
		"the same":             {"#777777", "#777777", 1},
		"the grey that passes": {"#767676", "#ffffff", 4.54},
		"the grey that fails":  {"#777777", "#ffffff", 4.48},
		"yellow on white":      {"#ffff00", "#ffffff", 1.07},
		"blue on white":        {"#0000ff", "#ffffff", 8.59},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.InDelta(t, c.want, colour.Contrast(parse(t, c.a), parse(t, c.b)), 0.005)
			require.InDelta(t, c.want, colour.Contrast(parse(t, c.b), parse(t, c.a)), 0.005)
		})
	}
}

func TestParseRefusesOtherForms(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "0f5c5c", "#0f5c5", "#0f5c5c5", "#0f5c5g", "red", "#0f5c5c;", "rgb(0,0,0)", "#0f5c5c\n"} {
		_, err := colour.Parse(bad)
		require.Error(t, err, bad)
	}
	require.Equal(t, "#0f5c5c", parse(t, "#0F5C5C").String())
}

func TestTowardsHasTheContrast(t *testing.T) {
	t.Parallel()
	dark := parse(t, "#172125")
	rapid.Check(t, func(r *rapid.T) {
		c := colour.Colour{R: rapid.Byte().Draw(r, "r"), G: rapid.Byte().Draw(r, "g"), B: rapid.Byte().Draw(r, "b")}
		require.GreaterOrEqual(r, colour.Contrast(c.Towards(colour.White, colour.MinText, dark), dark), colour.MinText)
	})
}
