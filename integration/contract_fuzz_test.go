package integration_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/api/openapi"
)

// contractExamplesEnv is the number of requests that are generated for each operation; `make fuzz-contract` sets it and fuzzTimeEnv.
const contractExamplesEnv = "COUNTERSIGN_FUZZ_EXAMPLES"

// streamed are the operations whose response has no end. Their tests read them.
var streamed = map[string]bool{"streamEvents": true}

// The Python package schemathesis generates requests from the OpenAPI document: no response is a 5xx, and each has a status, a content type,
// headers and a body of the document. Every operation is requested.
func TestContractHoldsForForeignFuzzer(t *testing.T) {
	t.Parallel()
	program, err := filepath.Abs(filepath.Join("..", "bin", "schemathesis", "bin", "schemathesis"))
	require.NoError(t, err)
	if _, err := os.Stat(program); err != nil {
		t.Skip("schemathesis is missing: make test installs it if there is Python 3.10 or later")
	}
	examples, seed := os.Getenv(contractExamplesEnv), os.Getenv(fuzzSeedEnv)
	phases := "examples,coverage,fuzzing,stateful"
	if examples == "" {
		examples, phases = "2", "fuzzing"
	}
	if seed == "" {
		seed = "1"
	}
	var limit []string
	if s := os.Getenv(fuzzTimeEnv); s != "" {
		d, err := time.ParseDuration(s)
		require.NoError(t, err)
		limit = []string{"--max-time", strconv.Itoa(int(d.Seconds()))}
	}
	f := newContractFuzz(t)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "schemathesis.toml"), []byte(f.configuration(t)), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "openapi.json"), openapi.Document(), 0o600))
	exclude := make([]string, 0, len(streamed))
	for id := range streamed {
		exclude = append(exclude, "--exclude-operation-id", id)
	}
	cmd := exec.CommandContext(t.Context(), program, append([]string{
		"run", "openapi.json", "--url", f.server.URL, "--phases", phases, "--max-examples", examples, "--seed", seed, "--continue-on-failure",
		"--no-color", "--warnings", "off", "--suppress-health-check", "all", "--generation-database", "none", "--max-redirects", "0",
		"--checks", "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance",
	}, slices.Concat(exclude, limit)...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	require.NoError(t, err)
	var missed []string
	for _, op := range operations() {
		t.Logf("%s: %v", op.ID, f.statuses[op.ID])
		if !streamed[op.ID] && len(f.statuses[op.ID]) == 0 {
			missed = append(missed, op.ID)
		}
	}
	require.Empty(t, missed, "operations that were not requested")
}

// contractFuzz stands between the fuzzer and the service: it adds keys and counts the responses of each operation.
type contractFuzz struct {
	w        world
	server   *httptest.Server
	mu       sync.Mutex
	statuses map[string]map[int]int
	keys     map[string]bool // idempotency keys that were sent
}

func newContractFuzz(t *testing.T) *contractFuzz {
	t.Helper()
	f := &contractFuzz{w: newSandbox(t), statuses: map[string]map[int]int{}, keys: map[string]bool{}}
	settings := newSandbox(t) // what its settings become must not stop the other requests
	target, err := url.Parse(f.w.Admin.base)
	require.NoError(t, err)
	paths := map[string]*regexp.Regexp{}
	for _, op := range operations() {
		literals := parameter.Split(op.Path, -1)
		for i := range literals {
			literals[i] = regexp.QuoteMeta(literals[i])
		}
		paths[op.ID] = regexp.MustCompile("^" + strings.Join(literals, "[^/]*") + "$")
	}
	proxy := &httputil.ReverseProxy{
		Transport: patient{},
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			key := f.w.Admin.key
			if r.In.URL.Path == "/api/v1/environment" {
				key = settings.Admin.key
			}
			r.Out.Header.Set("Authorization", "Bearer "+key)
			if f.sent(r.In.Header.Get("Idempotency-Key")) {
				r.Out.Header.Del("Idempotency-Key") // another request with the key would only be refused
			}
		},
		ModifyResponse: func(r *http.Response) error {
			for _, op := range operations() {
				if op.Method == r.Request.Method && paths[op.ID].MatchString(r.Request.URL.EscapedPath()) {
					f.mu.Lock()
					defer f.mu.Unlock()
					if f.statuses[op.ID] == nil {
						f.statuses[op.ID] = map[int]int{}
					}
					f.statuses[op.ID][r.StatusCode]++
					return nil
				}
			}
			return nil
		},
	}
	f.server = httptest.NewServer(proxy)
	t.Cleanup(f.server.Close)
	return f
}

// sent reports whether an earlier request had the key, and records it.
func (f *contractFuzz) sent(key string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.keys[key]
	f.keys[key] = true
	return before
}

// patient repeats what is refused with 503 and Retry-After, as every client has to: on a busy machine the workflow engine can be late.
type patient struct{}

func (patient) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	for attempt := 1; ; attempt++ {
		if r.Body != nil {
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		res, err := http.DefaultTransport.RoundTrip(r)
		if err != nil || res.StatusCode != http.StatusServiceUnavailable || attempt == 6 {
			return res, err
		}
		wait, unstated := strconv.Atoi(res.Header.Get("Retry-After"))
		if unstated != nil {
			return res, nil //nolint:nilerr // the service does not ask to repeat the request
		}
		_ = res.Body.Close()
		select {
		case <-time.After(time.Duration(wait) * time.Second):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
}

// configuration returns the fuzzer's configuration: the ids of records that exist.
func (f *contractFuzz) configuration(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	r := f.w.records(t)
	for _, op := range operations() {
		var ids []string
		for _, name := range slices.Sorted(maps.Keys(r.idsOf(op.ID))) {
			if strings.Contains(op.Path, "{"+name+"}") {
				ids = append(ids, fmt.Sprintf("%q = %q", "path."+name, r.ids[name]))
			}
		}
		if len(ids) > 0 {
			fmt.Fprintf(&out, "[[operations]]\ninclude-operation-id = %q\nparameters = { %s }\n", op.ID, strings.Join(ids, ", "))
		}
	}
	return out.String()
}
