package integration_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/api/openapi"
	"github.com/countersign-dev/countersign/integration/apitest"
	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// caller sends requests with one key. Every response is checked against the contract.
type caller struct {
	base, key string
	header    map[string]string
}

// with returns the caller with an additional header.
func (c caller) with(name, value string) caller {
	header := map[string]string{name: value}
	for k, v := range c.header {
		if _, set := header[k]; !set {
			header[k] = v
		}
	}
	return caller{base: c.base, key: c.key, header: header}
}

// at returns the caller for another replica.
func (c caller) at(base string) caller { return caller{base: base, key: c.key, header: c.header} }

// response is a response to a caller.
type response struct {
	t      testing.TB
	status int
	header http.Header
	body   []byte
}

func (c caller) get(t testing.TB, path string) response { return c.do(t, "GET", path, nil) }

func (c caller) post(t testing.TB, path string, body any) response {
	return c.do(t, "POST", path, body)
}

func (c caller) patch(t testing.TB, path string, body any) response {
	return c.do(t, "PATCH", path, body)
}

func (c caller) delete(t testing.TB, path string) response { return c.do(t, "DELETE", path, nil) }

// do sends one request. A []byte body is sent unchanged.
func (c caller) do(t testing.TB, method, path string, body any) response {
	t.Helper()
	a, err := c.send(method, path, body)
	require.NoError(t, err)
	a.t = t
	checkAgainstContract(t, method, path, a)
	return a
}

// send is do for goroutines: it returns an error and checks nothing.
func (c caller) send(method, path string, body any) (response, error) {
	r, err := apitest.Request{Base: c.base, Key: c.key, Method: method, Path: path, Header: c.header, Body: body}.Send()
	return response{status: r.Status, header: r.Header, body: r.Body}, err
}

// relyingParty makes a relying party's ordinary calls through sdk/go with the caller's key.
func (c caller) relyingParty() apitest.RelyingParty {
	return apitest.RelyingParty{Base: c.base, Key: c.key, Observe: func(t testing.TB, r apitest.Response) {
		checkAgainstContract(t, r.Method, r.Path, response{t: t, status: r.Status, header: r.Header, body: r.Body})
	}}
}

var operations = sync.OnceValue(func() []openapi.Operation { return shared.contract.Operations() })

// operationOf returns the id of the operation that handles a request. If two match, it is the one with fewer parameters.
func operationOf(method, path string) string {
	path, _, _ = strings.Cut(path, "?")
	best, fewest := "", 100
	for _, op := range operations() {
		if op.Method != method || !matches(op.Path, path) {
			continue
		}
		if n := strings.Count(op.Path, "{"); n < fewest {
			best, fewest = op.ID, n
		}
	}
	return best
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

func checkAgainstContract(t testing.TB, method, path string, a response) {
	t.Helper()
	require.NotEmpty(t, a.header.Get("X-Request-Id"), "%s %s: every response has a request id", method, path)
	if id := operationOf(method, path); id != "" {
		if a.status < 300 {
			record(recorded.operations, id, t)
		}
		require.NoError(t, shared.contract.ValidateResponse(id, a.status, a.body), "%s %s: %s", method, path, a.body)
	}
}

// is requires the status.
func (a response) is(status int) response {
	a.t.Helper()
	require.Equal(a.t, status, a.status, "response: %s", a.body)
	return a
}

// problem requires a problem with the status and the code.
func (a response) problem(status int, code string) response {
	a.t.Helper()
	a.is(status)
	require.Contains(a.t, a.header.Get("Content-Type"), "application/problem+json")
	require.Equal(a.t, code, a.string("code"), "response: %s", a.body)
	record(recorded.codes, code, a.t)
	return a
}

// into decodes the body.
func (a response) into(v any) {
	a.t.Helper()
	require.NoError(a.t, json.Unmarshal(a.body, v), "response: %s", a.body)
}

// value returns the value at a path of keys such as "assurance.coverage", or nil if there is none.
func (a response) value(path string) any {
	a.t.Helper()
	var v any
	a.into(&v)
	for key := range strings.SplitSeq(path, ".") {
		object, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = object[key]
	}
	return v
}

func (a response) string(path string) string {
	a.t.Helper()
	s, _ := a.value(path).(string)
	return s
}

func (a response) strings(path string) []string {
	a.t.Helper()
	list, _ := a.value(path).([]any)
	var out []string
	for _, v := range list {
		s, _ := v.(string)
		out = append(out, s)
	}
	return out
}

// list decodes an array of objects.
func (a response) list() []map[string]any {
	a.t.Helper()
	var out []map[string]any
	a.into(&out)
	return out
}

// faults returns the loc and the type of each item of a 422, joined by a space.
func (a response) faults() []string {
	a.t.Helper()
	a.is(http.StatusUnprocessableEntity)
	record(recorded.codes, "validation_error", a.t)
	var body struct {
		Detail []struct {
			Loc  []any  `json:"loc"`
			Msg  string `json:"msg"`
			Type string `json:"type"`
		} `json:"detail"`
	}
	a.into(&body)
	var out []string
	for _, d := range body.Detail {
		loc, err := json.Marshal(d.Loc)
		require.NoError(a.t, err)
		require.NotEmpty(a.t, d.Msg)
		require.Contains(a.t, problem.Rules(), d.Type)
		out = append(out, string(loc)+" "+d.Type)
	}
	return out
}

// now is a valid requested_at.
func now() int64 { return time.Now().Unix() }
