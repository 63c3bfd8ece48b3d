package browser_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

// The widths of a phone and of a desktop, in CSS pixels.
var widths = []int64{390, 1280}

// pageState is a page in one of its states.
type pageState struct {
	name string // of its screenshots
	path string
	text string // that it must show
	// then brings the opened page into the state; nil if opening it does.
	then func(b *tab)
}

// show opens the page in its state.
func (b *tab) show(p pageState) {
	b.t.Helper()
	b.open(p.path)
	b.see(p.text)
	if p.then != nil {
		p.then(b)
	}
}

// visitor opens pages, one after the other.
type visitor struct {
	name  string
	enter func(t *testing.T) *tab
	pages func(t testing.TB) []pageState // made when they are opened: links end after minutes
}

// visitors open every page of the service, in every state that can be reached without waiting.
func visitors(w populated) []visitor {
	staff := func(name string, roles ...models.Role) func(t *testing.T) *tab {
		return func(t *testing.T) *tab {
			t.Helper()
			b := newTab(t)
			b.enter(w.world, name, roles...)
			return b
		}
	}
	return []visitor{
		{"reader", staff("Olga Operator-Reviewer", models.RoleReviewer, models.RoleOperator, models.RoleAuditor), func(testing.TB) []pageState { return w.pages() }},
		{"operator", staff("Oskar Operator", models.RoleOperator), w.forms},
		{"anonymous", newTab, func(t testing.TB) []pageState {
			return slices.Concat(docsPages, tryPages, w.signedOut(t), unknownPages)
		}},
		{"customer", newCustomer, hostedPages},
	}
}

// notPages are the routes that open no page of their own, with the reason.
var notPages = map[string]string{
	"/assets/:file":                      "a style, a script or an icon",
	"/assets/accent/:file":               "a style",
	"/favicon.ico":                       "an icon",
	"/docs/openapi.json":                 "a document for programs",
	"/docs/verify-export.html":           "a file to download, opened by TestExportIsVerifiedWithoutAnInstallation",
	"/try/state":                         "read by the script of the page",
	"/try/engine":                        "read by the script of the page",
	"/try/decision":                      "read by the script of the page",
	"/console":                           "redirects to the first environment",
	"/console/":                          "redirects to the first environment",
	"/console/sign-in/:tenant/:provider": "redirects to the identity provider",
	"/console/:environment":              "redirects to the first section of the user",
	"/console/:environment/stream":       "a stream of events",
	"/standing":                          "opened by TestPayerRevokesStandingApprovalOnAPhone",
	"/console/:environment/single-sign-on/test":         "redirects to the identity provider",
	"/status/:environment/:authorization/:token":        "opened by TestStatusPageFollowsTheHold",
	"/status/:environment/:authorization/:token/events": "a stream of events",
}

// requireEveryRoute requires that each route that opens a page has one among the visitors' pages.
func requireEveryRoute(t *testing.T, all []visitor) {
	t.Helper()
	site, err := shared.Pages()
	require.NoError(t, err)
	app := fiber.New()
	site.Mount(app)
	var routes []string
	for _, r := range app.GetRoutes(true) {
		if r.Method == fiber.MethodGet && !strings.HasPrefix(r.Path, "/console/:environment/export/") { // files
			routes = append(routes, r.Path)
		}
	}
	require.Greater(t, len(routes), 40)
	opened := map[string]bool{}
	for _, v := range all {
		for _, p := range v.pages(t) {
			path := pathOf(p.path)
			i := slices.IndexFunc(routes, func(pattern string) bool { return fiber.RoutePatternMatch(path, pattern) })
			if i >= 0 {
				opened[routes[i]] = true
			}
		}
	}
	for _, route := range routes {
		if notPages[route] == "" {
			require.True(t, opened[route], "no visitor opens %s: add the page to the table of its section, or to notPages", route)
		}
	}
	for route := range notPages {
		require.Contains(t, routes, route)
	}
}

// Every page, in each of its states, is accessible by the rules of axe-core, fits its window with every box, is light or dark
// as the user prefers, can be used without a mouse, and does not move for a user who prefers reduced motion.
func TestEveryPage(t *testing.T) {
	t.Parallel()
	w := newPopulated(t)
	all := visitors(w)
	requireEveryRoute(t, all)
	for _, v := range all {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			b := v.enter(t)
			for _, status := range []string{"403", "404", "410", "422"} {
				b.expect("status of " + status)
			}
			for _, p := range v.pages(t) {
				b.show(p)
				b.requireLabelled()
				b.requireNoMotion()
				b.requireNone(untimed, "time limits that are not announced")
				b.requireForcedColours()
				b.requireNoSingleKeys()
				b.eachLook(func(look string) {
					b.requireNoOverflow()
					b.requireClean()
					if look == "desktop" || look == "phone-dark" {
						b.screenshot("page-" + p.name + "-" + look)
					}
				})
				for _, width := range widths {
					b.size(width, 800)
					b.requireKeyboard()
				}
				b.size(1100, 800)
			}
		})
	}
}
