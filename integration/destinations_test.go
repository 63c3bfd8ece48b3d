package integration_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

// siem is a receiver of OCSF events.
type siem struct {
	url string

	mu       sync.Mutex
	refuses  bool
	received []string // types of the entries
	secret   string   // of the last request
}

func newSIEM(t *testing.T) *siem {
	t.Helper()
	s := &siem{}
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		raw, err := io.ReadAll(in.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.secret = in.Header.Get("X-Api-Key")
		if err != nil || s.refuses {
			out.WriteHeader(http.StatusForbidden)
			return
		}
		for line := range strings.Lines(string(raw)) {
			var event struct {
				Metadata struct {
					Code string `json:"event_code"`
				} `json:"metadata"`
			}
			if json.Unmarshal([]byte(line), &event) != nil {
				out.WriteHeader(http.StatusBadRequest)
				return
			}
			s.received = append(s.received, event.Metadata.Code)
		}
	}))
	t.Cleanup(server.Close)
	s.url = server.URL + "/in"
	return s
}

func (s *siem) refuse(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuses = on
}

func (s *siem) has(kind string) func() bool {
	return func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, k := range s.received {
			if k == kind {
				return true
			}
		}
		return false
	}
}

// destination sets a destination up that is sent the log of the environment, and returns its name.
func (w world) destination(t *testing.T, url string) string {
	t.Helper()
	return w.destinationNamed(t, "siem", url)
}

func (w world) destinationNamed(t *testing.T, name, url string) string {
	t.Helper()
	return w.Admin.do(t, http.MethodPut, "/api/v1/destinations/"+name, object{"kind": "https", "url": url, "header": "x-api-key"}).is(200).string("name")
}

// Of requests that make a destination at the same time, one makes it and the others change it.
func TestDestinationIsMadeOnce(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	for round := range 5 {
		name := fmt.Sprintf("siem-%d", round)
		var all sync.WaitGroup
		statuses := make([]int, 8)
		for i := range statuses {
			all.Go(func() {
				out, err := w.Admin.send(http.MethodPut, "/api/v1/destinations/"+name, object{"kind": "otlp", "url": fmt.Sprintf("https://collector.example/%d", i)})
				if err == nil {
					statuses[i] = out.status
				}
			})
		}
		all.Wait()
		for _, status := range statuses {
			require.Equal(t, http.StatusOK, status, "%v", statuses)
		}
	}
	require.Len(t, w.Admin.get(t, "/api/v1/destinations").is(http.StatusOK).list(), 5)
}

// What happens is sent to the destination. One that refuses is said to be behind and loses nothing.
func TestDestinationsByTheAPI(t *testing.T) {
	t.Parallel()
	w, to := newSandbox(t), newSIEM(t)
	const path = "/api/v1/destinations/siem"
	w.Admin.get(t, path).is(404)
	w.destination(t, to.url)
	w.Admin.do(t, http.MethodPut, path+"/credentials", object{"header": "4711"}).is(200)
	w.subject(t)
	eventually(t, to.has("subject.created"), "the entry is sent")
	to.mu.Lock()
	require.Equal(t, "4711", to.secret)
	to.mu.Unlock()

	to.refuse(true)
	w.team(t, "finance", w.Admin)
	eventually(t, func() bool { return w.Admin.get(t, path).is(200).value("last_error") != nil }, "the error is said")
	d := w.Admin.get(t, path).is(200)
	require.Equal(t, "The receiver responded with status 403.", d.string("last_error"))
	require.NotContains(t, string(d.body), "4711")
	require.Equal(t, true, d.value("has_credentials"))
	require.Positive(t, d.value("behind"))
	page := w.signedIn(t, models.RoleOperator).get("/console/" + w.ID + "/destinations")
	require.Equal(t, http.StatusOK, page.status)
	require.Contains(t, page.body, "The last attempt failed: The receiver responded with status 403.")
	require.NotContains(t, page.body, "4711")
	to.refuse(false)
	eventually(t, to.has("team.created"), "the refused entry is sent again")
	eventually(t, func() bool { return w.Admin.get(t, path).is(200).value("last_error") == nil }, "the error is over")

	moved := w.Admin.do(t, http.MethodPut, path, object{"kind": "https", "url": "https://siem.example/in", "header": "x-api-key"}).is(200)
	require.Equal(t, false, moved.value("has_credentials"), "credentials end with the address that they were made for")
	require.Len(t, w.Admin.get(t, "/api/v1/destinations").is(200).list(), 1)
	for field, body := range map[string]object{
		"private address": {"kind": "https", "url": "https://10.0.0.1/in"}, "plain http": {"kind": "otlp", "url": "http://siem.example/v1/logs"},
		"other port": {"kind": "https", "url": "https://siem.example:25/in"}, "syslog with a path": {"kind": "syslog", "url": "tls://logs.example:6514/x"},
		"encoding of another kind": {"kind": "otlp", "url": "https://siem.example/v1/logs", "encoding": "lines"}, "header of ours": {"kind": "https", "url": "https://siem.example/in", "header": "Host"},
		"no certificates": {"kind": "https", "url": "https://siem.example/in", "ca": "x"},
	} {
		t.Run(field, func(t *testing.T) { w.Admin.do(t, http.MethodPut, path, body).is(422) })
	}
	w.Server.get(t, path).is(403)
	w.Admin.delete(t, path).is(204)
	w.Admin.delete(t, path).is(404)
	w.Admin.do(t, http.MethodPut, path+"/credentials", object{}).is(404)
	w.intact(t)
}

// A second principal approves where the log is sent.
func TestDestinationsUnderFourEyes(t *testing.T) {
	t.Parallel()
	w, other := fourEyes(t)
	const path = "/api/v1/destinations/siem"
	settings := object{"kind": "syslog", "url": "tls://logs.example:6514"}
	waiting := w.Admin.do(t, http.MethodPut, path, settings).is(http.StatusAccepted)
	require.Equal(t, "destination.set", waiting.string("kind"))
	w.Admin.get(t, path).is(404)
	w.Admin.post(t, changePath(waiting.string("id"), "approve"), nil).problem(http.StatusForbidden, "self_approval")
	other.post(t, changePath(waiting.string("id"), "approve"), nil).is(200)
	require.Equal(t, "tls://logs.example:6514", w.Admin.get(t, path).is(200).string("url"))
	moved := w.Admin.do(t, http.MethodPut, path, object{"kind": "syslog", "url": "tls://evil.example:6514"}).is(http.StatusAccepted)
	require.Equal(t, []any{object{"field": "url", "before": "tls://logs.example:6514", "after": "tls://evil.example:6514"}}, moved.value("differences"))
	removal := w.Admin.delete(t, path).is(http.StatusAccepted).string("id")
	other.post(t, changePath(removal, "approve"), nil).is(200)
	w.Admin.get(t, path).is(404)
	w.intact(t)
}
