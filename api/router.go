package api

import (
	"sort"
	"strings"

	"github.com/gofiber/fiber/v2"
)

// Route is one line of the route table. Path is written as in the contract, with {parameters}.
type Route struct {
	Method    string
	Path      string
	Operation string // the contract's operationId
	Access    Access
	Handler   fiber.Handler

	pathParams []string
}

const (
	get    = fiber.MethodGet
	post   = fiber.MethodPost
	patch  = fiber.MethodPatch
	remove = fiber.MethodDelete
)

// routes is the whole route table. A test holds it and the contract equal, and walks every line with every kind of
// credential.
func (s *server) routes() []Route {
	return []Route{
		{Method: get, Path: "/api/v1/meta", Operation: "getMeta", Access: AccessPublishable, Handler: s.meta.get},
		{Method: get, Path: "/api/v1/credential", Operation: "getCredential", Access: AccessPublishable, Handler: s.credentials.identity},
		{Method: get, Path: "/api/v1/openapi.json", Operation: "getOpenAPI", Access: AccessOpen, Handler: s.document},
	}
}

// Table answers the route table, for tests.
func (s *server) table() []Route {
	table := s.routes()
	for i := range table {
		table[i].pathParams = pathParams(table[i].Path)
	}
	return table
}

// mount registers every route. Of two paths that match, the one with fewer parameters is registered first.
func (s *server) mount(app *fiber.App) {
	table := s.table()
	sort.SliceStable(table, func(i, j int) bool { return len(table[i].pathParams) < len(table[j].pathParams) })
	s.methods = map[string][]string{}
	for _, r := range table {
		app.Add(r.Method, fiberPath(r.Path), s.handle(r))
		s.methods[r.Path] = append(s.methods[r.Path], r.Method)
	}
	app.Use(s.unknown)
}

// methodsOf lists the methods that a concrete path knows; empty for an unknown path.
func (s *server) methodsOf(path string) string {
	for pattern, methods := range s.methods {
		if matches(pattern, path) {
			return strings.Join(methods, ", ")
		}
	}
	return ""
}

func matches(pattern, path string) bool {
	want, have := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(have) {
		return false
	}
	for i := range want {
		if !strings.HasPrefix(want[i], "{") && want[i] != have[i] {
			return false
		}
	}
	return true
}

func fiberPath(path string) string {
	return strings.NewReplacer("{", ":", "}", "").Replace(path)
}

func pathParams(path string) []string {
	var names []string
	for part := range strings.SplitSeq(path, "/") {
		if strings.HasPrefix(part, "{") {
			names = append(names, strings.Trim(part, "{}"))
		}
	}
	return names
}
