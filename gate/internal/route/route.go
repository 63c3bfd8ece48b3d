// Package route finds the route of a request. A host that a route names is guarded whole: a request that matches no route is refused, and so
// is one that a lenient server could read as a request for a different, guarded route.
package route

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/gate/internal/request"
)

// Template is a path with parameters: /payments/{id}/release, /assets/{rest...}.
type Template struct {
	text  string
	parts []part
}

// part is one segment of a template: a literal, a parameter, or all remaining segments.
type part struct {
	literal, name string
	rest          bool
}

var (
	parameterForm = regexp.MustCompile(`^\{([a-z][a-z0-9_]*)(\.\.\.)?\}$`)
	literalForm   = regexp.MustCompile(`^[^{}]*$`)
)

// ParseTemplate reads a template. Literals are written decoded.
func ParseTemplate(text string) (Template, error) {
	t := Template{text: text}
	if !strings.HasPrefix(text, "/") {
		return t, fmt.Errorf("the path %q must begin with a slash", text)
	}
	segments := strings.Split(text[1:], "/")
	seen := map[string]bool{}
	for i, segment := range segments {
		m := parameterForm.FindStringSubmatch(segment)
		switch last := i == len(segments)-1; {
		case m == nil && !literalForm.MatchString(segment):
			return t, fmt.Errorf("the path %q: a parameter is a whole segment, such as {id} or a final {rest...}", text)
		case m == nil && (segment == "." || segment == ".." || segment == "" && !last || strings.ContainsAny(segment, `%;\?#`)):
			return t, fmt.Errorf("the path %q has a segment that no request can have: write it decoded, without dot segments, %%, ;, \\, ? and #", text)
		case m != nil && m[2] != "" && !last:
			return t, fmt.Errorf("the path %q: {%s...} must be the last segment", text, m[1])
		case m != nil && seen[m[1]]:
			return t, fmt.Errorf("the path %q has the parameter %s twice", text, m[1])
		case m != nil:
			seen[m[1]] = true
			t.parts = append(t.parts, part{name: m[1], rest: m[2] != ""})
		default:
			t.parts = append(t.parts, part{literal: segment})
		}
	}
	return t, nil
}

// Parameters are the names of the template's parameters.
func (t Template) Parameters() []string {
	var names []string
	for _, p := range t.parts {
		if p.name != "" {
			names = append(names, p.name)
		}
	}
	return names
}

// match returns the parameters if the segments match, compared by same.
func (t Template) match(segments []string, same func(literal, segment string) bool) (map[string]string, bool) {
	params := map[string]string{}
	for i, p := range t.parts {
		switch {
		case p.rest:
			params[p.name] = strings.Join(segments[min(i, len(segments)):], "/")
			return params, true
		case i >= len(segments), p.name != "" && segments[i] == "", p.name == "" && !same(p.literal, segments[i]):
			return nil, false
		case p.name != "":
			params[p.name] = segments[i]
		}
	}
	return params, len(segments) == len(t.parts)
}

// before reports whether a template is more specific than another: at the first difference, a literal precedes a parameter, which precedes
// all remaining segments.
func (t Template) before(other Template) bool {
	for i := range min(len(t.parts), len(other.parts)) {
		if a, b := t.parts[i].rank(), other.parts[i].rank(); a != b {
			return a < b
		}
	}
	return len(t.parts) > len(other.parts)
}

func (p part) rank() int {
	switch {
	case p.rest:
		return 2
	case p.name != "":
		return 1
	}
	return 0
}

// Same reports whether two templates match the same paths with the same precedence.
func (t Template) Same(other Template) bool {
	return slices.EqualFunc(t.parts, other.parts, func(a, b part) bool { return a.rank() == b.rank() && a.literal == b.literal })
}

// Place is where a route is: hosts in lower case, methods, path. GET includes HEAD.
type Place struct {
	Hosts, Methods []string
	Path           Template
	Open           bool // requests pass without a decision
}

// Overlaps reports whether two places have requests in common that both match equally well.
func (p Place) Overlaps(other Place) bool {
	common := func(a, b []string) bool {
		return slices.ContainsFunc(a, func(x string) bool { return slices.Contains(b, x) })
	}
	return p.Path.Same(other.Path) && common(p.Hosts, other.Hosts) && (len(p.Methods) == 0 || len(other.Methods) == 0 || common(p.Methods, other.Methods))
}

func (p Place) takes(method string) bool {
	return len(p.Methods) == 0 || slices.Contains(p.Methods, method) || method == http.MethodHead && slices.Contains(p.Methods, http.MethodGet)
}

// Table finds routes.
type Table struct {
	places []Place
	hosts  map[string][]int // indexes of places, the most specific first
}

// NewTable returns the table of places.
func NewTable(places []Place) *Table {
	t := &Table{places: places, hosts: map[string][]int{}}
	for i, p := range places {
		for _, host := range p.Hosts {
			t.hosts[host] = append(t.hosts[host], i)
		}
	}
	for _, indexes := range t.hosts {
		slices.SortStableFunc(indexes, func(a, b int) int {
			switch pa, pb := places[a].Path, places[b].Path; {
			case pa.before(pb):
				return -1
			case pb.before(pa):
				return 1
			}
			return len(places[b].Methods) - len(places[a].Methods) // a route for some methods precedes one for all
		})
	}
	return t
}

// Refusal is why a request has no route.
type Refusal struct{ Code, Detail string }

// Error returns the code and the sentence.
func (r *Refusal) Error() string { return r.Code + ": " + r.Detail }

// Find returns the index of the request's route and its parameters, or a *Refusal.
func (t *Table) Find(r *request.Request) (int, map[string]string, error) {
	indexes, known := t.hosts[r.Host]
	if !known {
		return 0, nil, &Refusal{"unknown_host", "No route names this host."}
	}
	exact, params := t.best(indexes, r.Method, r.Path.Segments, func(a, b string) bool { return a == b })
	if request.Enforced(request.RuleLoose) {
		for _, segments := range variants(r.Path.Segments) {
			loose, _ := t.best(indexes, r.Method, segments, func(a, b string) bool { return request.Fold(a) == request.Fold(b) })
			if loose >= 0 && loose != exact && !t.places[loose].Open {
				return 0, nil, &Refusal{"ambiguous_path", "Some servers read this path as that of a different route: use its exact spelling."}
			}
		}
	}
	if exact < 0 {
		return 0, nil, &Refusal{"unknown_route", "No route has this method and path."}
	}
	return exact, params, nil
}

// best returns the most specific place, or -1.
func (t *Table) best(indexes []int, method string, segments []string, same func(a, b string) bool) (int, map[string]string) {
	for _, i := range indexes {
		if !t.places[i].takes(method) {
			continue
		}
		if params, ok := t.places[i].Path.match(segments, same); ok {
			return i, params
		}
	}
	return -1, nil
}

// variants are other paths that lenient servers read alike: with and without a slash at the end, and without an extension.
func variants(segments []string) [][]string {
	bare := segments
	if n := len(segments); n > 1 && segments[n-1] == "" {
		bare = segments[:n-1]
	}
	all := [][]string{segments, bare, append(slices.Clone(bare), "")}
	last := bare[len(bare)-1]
	if i := strings.IndexByte(last, '.'); i > 0 {
		all = append(all, append(slices.Clone(bare[:len(bare)-1]), last[:i]))
	}
	return all
}
