package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// maxBody bounds a request in bytes.
const maxBody = 1 << 20

// player serves the cases and remembers the calls of each.
type player struct {
	cases  []*scripted
	byPath map[string]*scripted

	mu       sync.Mutex
	received map[*scripted][]received
}

// received is a call and how it differs from the script.
type received struct {
	Method string   `json:"method"`
	Target string   `json:"target"`
	Body   string   `json:"body,omitempty"`
	Faults []string `json:"faults"`
}

// report compares the calls of a case with its script.
type report struct {
	Case       string     `json:"case"`
	AsScripted bool       `json:"as_scripted"`
	Calls      []received `json:"calls"`
	Faults     []string   `json:"faults"`
}

func newPlayer(cases []*scripted) *player {
	p := &player{cases: cases, byPath: map[string]*scripted{}, received: map[*scripted][]received{}}
	for _, c := range cases {
		p.byPath["/"+c.File+"/"+c.Name] = c
	}
	return p
}

// ServeHTTP serves /, /cases, /report, /reset, and for each case its API, its report and its reset.
func (p *player) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	segments, err := split(r.URL.EscapedPath())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	route := r.Method + " " + strings.Join(segments, "/")
	switch {
	case route == "GET ":
		p.page(w)
	case route == "GET cases":
		write(w, p.listed())
	case route == "GET report":
		write(w, p.reports())
	case route == "POST reset":
		p.reset(p.cases...)
		w.WriteHeader(http.StatusNoContent)
	default:
		c := p.find(segments)
		if c == nil {
			http.Error(w, "no such case; / lists them", http.StatusNotFound)
			return
		}
		p.serve(w, r, c, segments[2:])
	}
}

// split returns the segments of a path, which may have escaped slashes.
func split(path string) ([]string, error) {
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, s := range segments {
		var err error
		if segments[i], err = url.PathUnescape(s); err != nil {
			return nil, err
		}
	}
	return segments, nil
}

func (p *player) find(segments []string) *scripted {
	if len(segments) < 2 {
		return nil
	}
	return p.byPath["/"+segments[0]+"/"+segments[1]]
}

func (p *player) serve(w http.ResponseWriter, r *http.Request, c *scripted, rest []string) {
	switch {
	case r.Method == http.MethodGet && slices.Equal(rest, []string{"report"}):
		write(w, p.report(c))
	case r.Method == http.MethodPost && slices.Equal(rest, []string{"reset"}):
		p.reset(c)
		w.WriteHeader(http.StatusNoContent)
	default:
		play(w, c, p.record(c, r, rest))
	}
}

// record remembers a call and returns the step that it receives.
func (p *player) record(c *scripted, r *http.Request, segments []string) step {
	body, _ := io.ReadAll(io.LimitReader(r.Body, maxBody)) // a body that was cut differs from the one that is expected
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.received[c])
	got := received{Method: r.Method, Target: r.URL.RequestURI(), Body: string(body), Faults: []string{}}
	if wanted := c.wanted(n); wanted != nil {
		got.Faults = append(got.Faults, wanted.differences(r, segments, body)...)
	}
	p.received[c] = append(p.received[c], got)
	return c.Steps[n%len(c.Steps)]
}

// differences says how a request is not the one wanted, in a sentence each.
func (want *call) differences(r *http.Request, segments []string, body []byte) (out []string) {
	differs := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if r.Method != want.Method {
		differs("method: want %s, got %s", want.Method, r.Method)
	}
	if !slices.Equal(segments, want.Segments) {
		differs("path: want the segments %q, got %q", want.Segments, segments)
	}
	if want.Query != nil {
		got := map[string]string{}
		for name, values := range r.URL.Query() {
			got[name] = strings.Join(values, ", ")
		}
		if !maps.Equal(got, want.Query) {
			differs("query: want %q, got %q", want.Query, got)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want.Headers)) {
		if got := r.Header.Get(name); !matches(want.Headers[name], got) {
			differs("header %s: want %q, got %q", name, want.Headers[name], got)
		}
	}
	if want.Body == nil {
		return out
	}
	var got any
	if err := json.Unmarshal(body, &got); err != nil {
		differs("body: not JSON: %v", err)
	} else if !reflect.DeepEqual(got, want.Body) {
		text, _ := json.Marshal(want.Body)
		differs("body: want %s, got %s", text, bytes.TrimSpace(body))
	}
	return out
}

// matches compares a header; a * at the end stands for any text but none.
func matches(want, got string) bool {
	if prefix, any := strings.CutSuffix(want, "*"); any {
		return strings.HasPrefix(got, prefix) && len(got) > len(prefix)
	}
	return want == got
}

// play sends a step. A redirect to a path stays within the case, so that a client that follows it is noticed.
func play(w http.ResponseWriter, c *scripted, s step) {
	if s.Drop {
		panic(http.ErrAbortHandler)
	}
	w.Header()["Content-Type"] = nil // none is guessed
	for name, value := range s.Headers {
		if name == "Location" && strings.HasPrefix(value, "/") {
			value = c.path() + value
		}
		w.Header().Set(name, value)
	}
	if s.Length > 0 {
		w.Header().Set("Content-Length", strconv.Itoa(s.Length))
	}
	w.WriteHeader(s.Status)
	_, _ = io.WriteString(w, s.Body)
}

func (p *player) report(c *scripted) report {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := report{Case: c.path(), Calls: slices.Clone(p.received[c]), Faults: []string{}}
	if n := len(out.Calls); n < c.Least || n > c.Most {
		out.Faults = append(out.Faults, fmt.Sprintf("calls: want %d, got %d", max(c.Least, min(n, c.Most)), n))
	}
	for i, call := range out.Calls {
		for _, fault := range call.Faults {
			out.Faults = append(out.Faults, fmt.Sprintf("call %d: %s", i+1, fault))
		}
	}
	out.AsScripted = len(out.Faults) == 0
	return out
}

// reports returns those of the cases that were called.
func (p *player) reports() []report {
	out := []report{}
	for _, c := range p.cases {
		if r := p.report(c); len(r.Calls) > 0 {
			out = append(out, r)
		}
	}
	return out
}

func (p *player) reset(cases ...*scripted) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range cases {
		delete(p.received, c)
	}
}

func write(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	_ = enc.Encode(v) // the connection has ended
}
