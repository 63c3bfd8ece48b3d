package integration_test

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/integration/apitest"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// lines returns the rows of a file of JSON Lines without its trailer, which must say that the file is complete.
func (v visit) lines(t *testing.T) []map[string]any {
	t.Helper()
	require.Equal(t, 200, v.status, v.body)
	var out []map[string]any
	for line := range strings.Lines(v.body) {
		var row map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &row), line)
		out = append(out, row)
	}
	last := out[len(out)-1]
	require.Equal(t, "complete", last["export"])
	require.EqualValues(t, len(out)-1, last["rows"])
	return out[:len(out)-1]
}

func column(rows []map[string]any, name string) (out []any) {
	for _, row := range rows {
		out = append(out, row[name])
	}
	return out
}

// An export has the rows of the page with the same filter, and is recorded with its filters.
func TestConsoleExportsWhatThePageLists(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", holding)
	_, other := w.action(t, "enforce", holding)
	first := w.authorize(t, w.subject(t), action, "hold").string("id")
	second := w.authorize(t, w.subject(t), action, "hold").string("id")
	third := w.authorize(t, w.subject(t), other, "hold").string("id")
	ann := w.signedIn(t, models.RoleReviewer, models.RoleAuditor)
	ann.review(w, third, "reject")
	at := "/console/" + w.ID + "/export/"
	for name, c := range map[string]struct {
		path string
		want []any
	}{
		"decisions, newest first": {"decisions?format=jsonl&decision=hold", []any{third, second, first}},
		"decisions of an action":  {"decisions?format=jsonl&action=" + action, []any{second, first}},
		"decisions by review":     {"decisions?format=jsonl&review=rejected", []any{third}},
		"no decision":             {"decisions?format=jsonl&q=user-of-no-one", nil},
		"the queue":               {"reviews?format=jsonl", []any{first, second}},
		"the queue, newest first": {"reviews?format=jsonl&sort=opened", []any{second, first}},
		"the settled queue":       {"reviews?format=jsonl&status=rejected", []any{third}},
		"a search of the queue":   {"reviews?format=jsonl&q=" + second, []any{second}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, column(ann.get(at+c.path).lines(t), "id")) })
	}
	t.Run("CSV", func(t *testing.T) {
		records, err := csv.NewReader(strings.NewReader(ann.get(at + "decisions?format=csv&review=rejected").body)).ReadAll()
		require.NoError(t, err)
		require.Len(t, records, 2)
		require.Equal(t, []string{"id", "decided_at", "requested_at", "decision"}, records[0][:4])
		require.Equal(t, third, records[1][0])
		_, err = time.Parse("2006-01-02T15:04:05.000Z", records[1][1])
		require.NoError(t, err, "a time in UTC")
	})
	t.Run("refused filters", func(t *testing.T) {
		for path, fault := range map[string]string{
			"decisions": "format must be csv or jsonl.", "decisions?format=xml": "format must be csv or jsonl.", "audit?format=csv&since=soon": "From must be a date",
		} {
			out := ann.get(at + path)
			require.Equal(t, 400, out.status, path)
			require.Contains(t, out.body, fault)
		}
	})
	t.Run("the audit log", func(t *testing.T) {
		since := time.Now().Add(-time.Hour).UTC().Format("2006-01-02T15:04")
		ann.get(at + "decisions?format=csv&decision=hold&q=user-4711&since=" + since).status200(t)
		var entry events.ListExportEndedData
		rows, _, err := events.QueryActivity(t.Context(), shared.Store.Q, w.scope(), events.ActivityFilter{Types: []string{string(events.ListExportEnded)}}, pg.Page{Limit: 1})
		require.NoError(t, err)
		require.Equal(t, "person:"+ann.person, rows[0].Actor)
		require.NoError(t, json.Unmarshal(rows[0].Data, &entry))
		require.Equal(t, []string{"q", "decision=hold", "since=" + since + ":00.000Z"}, entry.Filters, "without what may be personal data")
		require.True(t, entry.Complete)
		require.Zero(t, entry.Rows)
	})
}

func (v visit) status200(t *testing.T) {
	t.Helper()
	require.Equal(t, 200, v.status, v.body)
}

var exportURLs = regexp.MustCompile(`href="(/console/[^"]+/export/[^"]+)"`)

// Every page with a list links to its exports, whose name says list, environment and time.
func TestConsolePagesLinkTheirExports(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	x := w.consoleRecords(t)
	v := w.signedIn(t, models.RoleReviewer, models.RoleOperator, models.RoleAuditor)
	for _, page := range []string{
		"reviews", "decisions", "policies", "lists", "lists/" + x.list + "?value=acct", "changes", "evaluations", "webhooks", "webhooks/" + x.endpoint + "?status=failed", "keys", "people", "audit?type=action.created",
	} {
		t.Run(page, func(t *testing.T) {
			found := exportURLs.FindAllStringSubmatch(v.get("/console/"+w.ID+"/"+page).body, -1)
			require.Len(t, found, 2, "CSV and JSON lines")
			for _, link := range found {
				at := strings.ReplaceAll(link[1], "&amp;", "&")
				if _, filter, filtered := strings.Cut(page, "?"); filtered {
					require.Contains(t, at, filter)
				}
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, v.base+at, nil)
				require.NoError(t, err)
				req.AddCookie(v.cookie)
				resp, err := apitest.Client.Do(req)
				require.NoError(t, err)
				require.NoError(t, resp.Body.Close())
				require.Equal(t, 200, resp.StatusCode)
				require.Regexp(t, `^attachment; filename="[a-z]+_sandbox_`+w.ID+`_\d{8}T\d{6}Z\.(csv|jsonl)"$`, resp.Header.Get("Content-Disposition"))
				require.Equal(t, "no-store", resp.Header.Get("Cache-Control"))
			}
			require.NotEmpty(t, v.get(strings.ReplaceAll(found[0][1], "&amp;", "&")).body)
		})
	}
	var rows []map[string]any
	eventually(t, func() bool {
		rows = v.get("/console/" + w.ID + "/export/audit?format=jsonl&type=action.created").lines(t)
		return len(rows) > 0
	}, "the event is sealed")
	require.Equal(t, "action.created", rows[0]["type"])
}
