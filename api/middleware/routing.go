package middleware

import (
	"net/http"
	"slices"
	"sort"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Route is one entry of the route table.
type Route struct {
	Method    string
	Path      string // as in the contract, with {parameters}
	Operation string // the contract's operationId
	Access    Access
	// Permission that the credential needs as well. None if the route requires no server key.
	Permission models.Permission
	Waits      bool   // the handler waits for a workflow, a webhook receiver or an export slot, and counts apart under load
	Frames     bool   // the body is evidence frames: Config.MaxFrameBytes is its limit, and any finite number is accepted
	Spelled    string // a field of the body whose text the handler reads too; see strictjson.Spelling
	Finds      string // the field of the body that identifies a resource, for a path without parameters: a not_found names it
	Old        bool   // lists of records and reports on them: may be read from a standby
	Personal   bool   // a list of records about people: reading it in bulk leaves an audit entry
	Streams    bool   // the response has no end
	Urgent     bool   // it ends what someone could misuse: no quota refuses it
	Handler    fiber.Handler
}

// Mount registers the middleware of every request, the pages, and the routes with the middleware of each. Paths with fewer parameters come
// first: Fiber takes the first path that matches.
func (m *Chain) Mount(app *fiber.App, pages func(app *fiber.App), routes []Route) {
	app.Use(m.observe)
	app.Use(m.unambiguous)
	app.Use(m.crossOrigin)
	if pages != nil {
		pages(app)
	}
	m.routes = slices.Clone(routes)
	sort.SliceStable(m.routes, func(i, j int) bool { return len(m.routes[i].params()) < len(m.routes[j].params()) })
	for _, r := range m.routes {
		path := strings.NewReplacer("{", ":", "}", "").Replace(r.Path)
		app.Add(r.Method, path, m.handle(r))
		if r.Method == http.MethodGet && !r.Streams { // RFC 9110, section 9.3.2: the response without its body
			app.Add(http.MethodHead, path, m.handle(r))
		}
	}
	app.Use(m.unmatched)
	m.handleUnknownMethods(app)
	m.explainFraming(app)
}

// Matches reports whether a concrete path is one of the route.
func (r Route) Matches(path string) bool {
	want, have := strings.Split(r.Path, "/"), strings.Split(path, "/")
	if len(want) != len(have) {
		return false
	}
	for i := range want {
		if isParam := strings.HasPrefix(want[i], "{"); isParam && have[i] == "" || !isParam && want[i] != have[i] {
			return false
		}
	}
	return true
}

// params returns the names of the parameters of the path.
func (r Route) params() []string {
	var names []string
	for part := range strings.SplitSeq(r.Path, "/") {
		if strings.HasPrefix(part, "{") {
			names = append(names, strings.Trim(part, "{}"))
		}
	}
	return names
}

// unmatched returns 405 for a path that supports other methods, and 404 for an unknown path.
func (m *Chain) unmatched(c *fiber.Ctx) error {
	if allow := m.methodsOf(c.Path()); allow != "" {
		c.Set(fiber.HeaderAllow, allow)
		return fiber.NewError(http.StatusMethodNotAllowed)
	}
	detail := "No operation has this path. /docs lists the paths of all operations."
	if path := strings.TrimRight(c.Path(), "/"); path != c.Path() && m.methodsOf(path) != "" {
		detail = "No operation has this path: remove the slash at its end."
	}
	return problem.New(problem.NotFound, detail)
}

// methodsOf returns the methods that a concrete path supports, as an Allow header; empty for an unknown path.
func (m *Chain) methodsOf(path string) string {
	var methods []string
	for _, r := range m.routes {
		if r.Matches(path) {
			methods = append(methods, r.Method)
			if r.Method == http.MethodGet && !r.Streams {
				methods = append(methods, http.MethodHead)
			}
		}
	}
	return strings.Join(methods, ", ")
}
