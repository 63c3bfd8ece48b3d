package web

import (
	"fmt"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/platform/colour"
)

// accentPrefix is the path prefix of the style sheets with a customer's accent colour. Each is computed from its address alone.
const accentPrefix = assetPrefix + "accent/"

// The backgrounds of base.css that text in the accent colour appears on.
var (
	lightSurface = colour.White
	lightSunken  = colour.Colour{R: 0xf0, G: 0xf3, B: 0xf4}
	darkSurface  = colour.Colour{R: 0x17, G: 0x21, B: 0x25}
	darkPage     = colour.Colour{R: 0x0e, G: 0x15, B: 0x18}
)

// AccentURL returns the path of a style sheet that replaces the accent colour, such as #0f5c5c; empty for none.
func AccentURL(accent string) string {
	if accent == "" {
		return ""
	}
	return accentPrefix + strings.TrimPrefix(accent, "#") + ".css"
}

// accent serves the style sheet of an accent colour. A colour that is too light for a page is darkened until it can be read.
func (s *Site) accent(c *fiber.Ctx) error {
	given, err := colour.Parse("#" + strings.TrimSuffix(c.Params("file"), ".css"))
	if err != nil {
		return fiber.ErrNotFound
	}
	c.Set(fiber.HeaderContentType, "text/css; charset=utf-8")
	c.Set(fiber.HeaderCacheControl, "public, max-age=31536000, immutable")
	return c.SendString(accentStyles(given))
}

// accentStyles returns the custom properties of base.css for light and dark pages. Every pair of text and background has the
// contrast that WCAG asks of text.
func accentStyles(given colour.Colour) string {
	light := given.Towards(colour.Black, colour.MinText, lightSurface, lightSunken)
	dark := given.Towards(colour.White, colour.MinText, darkSurface, darkPage)
	properties := func(accent, strong, soft, on colour.Colour) string {
		return fmt.Sprintf("--accent:%s;--accent-strong:%s;--accent-soft:%s;--on-accent:%s", accent, strong, soft, on)
	}
	return ":root{" + properties(light, light.Mix(colour.Black, .25), softened(light, lightSurface), colour.White) +
		"}@media (prefers-color-scheme:dark){:root{" +
		properties(dark, dark.Mix(colour.White, .3), softened(dark, darkSurface), darkPage) + "}}\n"
}

// softened returns a background with a little of the accent on which the accent can still be read as text.
func softened(accent, surface colour.Colour) colour.Colour {
	return surface.Mix(accent, .12).Towards(surface, colour.MinText, accent)
}
