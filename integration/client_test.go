package integration_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/api/openapi"
)

// caller asks in the name of one key. Every answer is held against the contract.
type caller struct {
	base, key string
	header    map[string]string
}

// with is the caller with a header more.
func (c caller) with(name, value string) caller {
	header := map[string]string{name: value}
	for k, v := range c.header {
		if _, set := header[k]; !set {
			header[k] = v
		}
	}
	return caller{base: c.base, key: c.key, header: header}
}

// at is the caller speaking to another replica.
func (c caller) at(base string) caller { return caller{base: base, key: c.key, header: c.header} }

// answer is what came back.
type answer struct {
	t      testing.TB
	status int
	header http.Header
	body   []byte
}

var httpClient = &http.Client{
	Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: 100},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

func (c caller) get(t testing.TB, path string) answer { return c.do(t, "GET", path, nil) }

func (c caller) post(t testing.TB, path string, body any) answer { return c.do(t, "POST", path, body) }

// settle posts what a run settles, again for as long as the answer is to ask again: so is a request answered whose task went
// to a worker that was just stopping, as other tests' are.
func (c caller) settle(t *testing.T, path string, body any) (a answer) {
	t.Helper()
	eventually(t, func() bool {
		a = c.post(t, path, body)
		return a.status != 503 || a.header.Get("Retry-After") == ""
	}, "an answer to "+path)
	return a
}

func (c caller) patch(t testing.TB, path string, body any) answer {
	return c.do(t, "PATCH", path, body)
}

func (c caller) delete(t testing.TB, path string) answer { return c.do(t, "DELETE", path, nil) }

// do sends one request. A body that is bytes goes as it is.
func (c caller) do(t testing.TB, method, path string, body any) answer {
	t.Helper()
	a, err := c.send(method, path, body)
	require.NoError(t, err)
	a.t = t
	holdAgainstContract(t, method, path, a)
	return a
}

// send is do without a test around it, for goroutines.
func (c caller) send(method, path string, body any) (answer, error) {
	var text []byte
	switch b := body.(type) {
	case nil:
	case []byte:
		text = b
	default:
		var err error
		if text, err = json.Marshal(body); err != nil {
			return answer{}, err
		}
	}
	req, err := http.NewRequest(method, c.base+path, bytes.NewReader(text))
	if err != nil {
		return answer{}, err
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range c.header {
		req.Header.Set(name, value)
	}
	resp, err := httpClient.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	got, err := io.ReadAll(resp.Body)
	return answer{status: resp.StatusCode, header: resp.Header, body: got}, err
}

var operations = sync.OnceValue(func() []openapi.Operation { return shared.contract.Operations() })

// operationOf finds the operation that a request goes to; the one with fewer parameters where two match.
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

func holdAgainstContract(t testing.TB, method, path string, a answer) {
	t.Helper()
	require.NotEmpty(t, a.header.Get("X-Request-Id"), "%s %s: every answer has a request id", method, path)
	if id := operationOf(method, path); id != "" {
		if a.status < 300 {
			record(recorded.operations, id, t)
		}
		require.NoError(t, shared.contract.ValidateResponse(id, a.status, a.body), "%s %s answered %s", method, path, a.body)
	}
}

// is requires the status.
func (a answer) is(status int) answer {
	a.t.Helper()
	require.Equal(a.t, status, a.status, "answered: %s", a.body)
	return a
}

// problem requires a problem with the status and the code.
func (a answer) problem(status int, code string) answer {
	a.t.Helper()
	a.is(status)
	require.Contains(a.t, a.header.Get("Content-Type"), "application/problem+json")
	require.Equal(a.t, code, a.string("code"), "answered: %s", a.body)
	record(recorded.codes, code, a.t)
	return a
}

// into decodes the body.
func (a answer) into(v any) {
	a.t.Helper()
	require.NoError(a.t, json.Unmarshal(a.body, v), "answered: %s", a.body)
}

// value is what stands at a path of keys, such as "assurance.coverage"; nil where nothing does.
func (a answer) value(path string) any {
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

func (a answer) string(path string) string {
	a.t.Helper()
	s, _ := a.value(path).(string)
	return s
}

func (a answer) strings(path string) []string {
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
func (a answer) list() []map[string]any {
	a.t.Helper()
	var out []map[string]any
	a.into(&out)
	return out
}

// faults are the loc and type of each item of a 422, joined for comparing.
func (a answer) faults() []string {
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
		out = append(out, string(loc)+" "+d.Type)
	}
	return out
}

// now is a requested_at that is good.
func now() int64 { return time.Now().Unix() }
