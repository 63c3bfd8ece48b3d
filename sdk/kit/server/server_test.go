package main

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func started(t *testing.T) (base string, cases []*scripted) {
	t.Helper()
	cases, err := load(os.DirFS(".."))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(newPlayer(cases))
	server.Config.ErrorLog = nil
	server.Start()
	t.Cleanup(server.Close)
	return server.URL, cases
}

// client follows no redirect and sends each request once: a transport that reuses connections repeats a GET that was dropped.
var client = &http.Client{
	Transport:     &http.Transport{DisableKeepAlives: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// request makes the request that a script wants.
func (want *call) request(t *testing.T, base string) *http.Request {
	t.Helper()
	target := base
	for _, s := range want.Segments {
		target += "/" + url.PathEscape(s)
	}
	query := url.Values{}
	for name, value := range want.Query {
		query.Set(name, value)
	}
	body, err := json.Marshal(want.Body)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), want.Method, target+"?"+query.Encode(), bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range want.Headers {
		if value != "" {
			r.Header.Set(name, strings.Replace(value, "*", "x", 1))
		}
	}
	return r
}

func reportOf(t *testing.T, base string) (out report) {
	t.Helper()
	r, err := client.Get(base + "/report")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	if err := json.NewDecoder(r.Body).Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestEveryCaseIsServedAndACorrectClientHasNoFaults(t *testing.T) {
	t.Parallel()
	base, cases := started(t)
	for _, c := range cases {
		t.Run(c.path(), func(t *testing.T) {
			t.Parallel()
			for n := range max(c.Least, 1) {
				want := c.wanted(n)
				if want == nil {
					want = &call{Method: http.MethodGet}
				}
				s := c.Steps[n%len(c.Steps)]
				response, err := client.Do(want.request(t, base+c.path()))
				if s.Drop {
					if err == nil {
						t.Fatal("the connection was not closed")
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(response.Body)
				_ = response.Body.Close()
				if cut := s.Length > len(s.Body); cut != (err != nil) || string(body) != s.Body || response.StatusCode != s.Status {
					t.Fatalf("status %d, error %v, body %q", response.StatusCode, err, body)
				}
				for name, value := range s.Headers {
					if got := response.Header.Get(name); !strings.HasSuffix(got, value) {
						t.Errorf("header %s is %q, not %q", name, got, value)
					}
				}
			}
			if r := reportOf(t, base+c.path()); !r.AsScripted || len(r.Calls) != max(c.Least, 1) {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestTheReportNamesWhatDiffers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		of     string
		change func(*http.Request)
		calls  int
		want   string
	}{
		"a call too few":  {"/retries/after a quota", nil, 1, "calls: want 2, got 1"},
		"a call too many": {"/responses/an empty body", nil, 2, "calls: want 1, got 2"},
		"another method":  {"/requests/a list", func(r *http.Request) { r.Method = "POST" }, 1, "call 1: method: want GET, got POST"},
		"another path":    {"/requests/an id in the path", func(r *http.Request) { r.URL.Path += "s" }, 1, `"links"]`},
		"a segment that is split": {"/requests/an id that is escaped", func(r *http.Request) {
			r.URL.RawPath = strings.Replace(r.URL.EscapedPath(), "%2F", "/", 1)
			r.URL.Path, _ = url.PathUnescape(r.URL.RawPath)
		}, 1, "call 1: path"},
		"a query too many":           {"/requests/a list", func(r *http.Request) { r.URL.RawQuery = "x=1" }, 1, "call 1: query"},
		"no credential":              {"/requests/a decision", func(r *http.Request) { r.Header.Del("Authorization") }, 1, "call 1: header Authorization"},
		"a credential for a key set": {"/keys/fetched once", func(r *http.Request) { r.Header.Set("Authorization", "Bearer sk_test_x") }, 1, "call 1: header Authorization"},
		"no idempotency key":         {"/requests/an id in the path", func(r *http.Request) { r.Header.Del("Idempotency-Key") }, 1, "call 1: header Idempotency-Key"},
		"an event before the last":   {"/streams/continued after the last event", func(r *http.Request) { r.Header.Set("Last-Event-ID", "evt_9") }, 2, `call 2: header Last-Event-ID: want "evt_1", got "evt_9"`},
		"a body that is no JSON":     {"/requests/a decision", func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("<>")); r.ContentLength = 2 }, 1, "call 1: body: not JSON"},
		"another body": {"/retries/at once", func(r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader("{}")), 2
		}, 1, "call 1: body: want"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base, cases := started(t)
			at := slices.IndexFunc(cases, func(c *scripted) bool { return "/"+c.File+"/"+c.Name == tc.of })
			if at < 0 {
				t.Fatal("no such case")
			}
			c := cases[at]
			for n := range tc.calls {
				r := c.wanted(n).request(t, base+c.path())
				if tc.change != nil {
					tc.change(r)
				}
				if response, err := client.Do(r); err == nil {
					_ = response.Body.Close()
				}
			}
			r := reportOf(t, base+c.path())
			if !slices.ContainsFunc(r.Faults, func(fault string) bool {
				return strings.Contains(fault, tc.want)
			}) {
				t.Fatalf("no fault is %q: %q", tc.want, r.Faults)
			}
			response, err := client.Post(base+c.path()+"/reset", "", nil)
			if err != nil || response.StatusCode != http.StatusNoContent {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			if r := reportOf(t, base+c.path()); len(r.Calls) != 0 {
				t.Errorf("%d calls after a reset", len(r.Calls))
			}
		})
	}
}

func TestThePageListsEveryCase(t *testing.T) {
	t.Parallel()
	base, cases := started(t)
	response, err := client.Get(base + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(string(text), "/report\""); got != len(cases) {
		t.Errorf("%d of %d cases", got, len(cases))
	}
	missing, err := client.Get(base + "/retries/no%20such%20case/api/v1/authorize")
	if err != nil {
		t.Fatal(err)
	}
	_ = missing.Body.Close()
	if missing.StatusCode != http.StatusNotFound {
		t.Errorf("a case that does not exist: status %d", missing.StatusCode)
	}
}

func TestACaseThatIsThereTwiceIsRefused(t *testing.T) {
	t.Parallel()
	kit := fstest.MapFS{}
	for _, name := range []string{"requests", "responses", "retries", "pages", "streams", "keys", "proofs", "webhooks", "canonical"} {
		text, err := os.ReadFile("../" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		kit[name+".json"] = &fstest.MapFile{Data: text}
	}
	twice := maps.Clone(kit)
	twice["webhooks.json"] = &fstest.MapFile{Data: []byte(`{"cases":[{"name":"a","body":"{}"},{"name":"a","body":"{}"}]}`)}
	if _, err := load(twice); err == nil || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("two cases with one name: %v", err)
	}
	if _, err := load(kit); err != nil {
		t.Error(err)
	}
}
