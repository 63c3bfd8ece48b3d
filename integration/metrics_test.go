package integration_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/internal/testing/testenv/temporaltest"
)

func TestMetricsReportTheBacklog(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", object{"coverage_min": "none", "insufficient_evidence": "hold", "claims": object{"operator_continuity": "likely"}})
	w.authorize(t, w.subject(t), action, "hold")
	eventually(t, func() bool {
		res, err := http.Get(shared.opsURL + "/metrics")
		require.NoError(t, err)
		defer func() { _ = res.Body.Close() }()
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		text := string(body)
		return regexp.MustCompile(`countersign_backlog\{kind="holds",topic=""\} [1-9]`).MatchString(text) &&
			strings.Contains(text, `countersign_backlog_unknown{source="postgres"} 0`) &&
			strings.Contains(text, `countersign_backlog_unknown{source="temporal"} 0`) &&
			strings.Contains(text, `countersign_task_queue_backlog{type="workflow"}`) &&
			strings.Contains(text, `countersign_backlog_oldest_seconds{kind="signing_key",topic=""}`) &&
			strings.Contains(text, "countersign_db_connections_allowed ")
	}, "the figures of what waits")
}

// What an operator sees of evidence: how much is refused, and why. The reason is a code of ours and nothing that was sent.
func TestMetricsCountFramesByReason(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	session := w.session(t, w.subject(t), "score", synthetic.NewTypist(1), 1)
	frame := evidence(synthetic.NewTypist(1), "score", time.Now().Add(-time.Minute), 1)
	frame["features"] = object{"schema": "cs-features-1", "note": "hunter2"}
	w.Server.post(t, "/api/v1/sessions/"+session+"/evidence", frame).is(200)

	text := string(w.Server.get(t, "/metrics").is(200).body)
	require.Regexp(t, `countersign_frames_total\{reason="",status="accepted"\} [1-9]`, text)
	require.Regexp(t, `countersign_frames_total\{reason="features_raw_content",status="rejected"\} [1-9]`, text)
	require.NotContains(t, text, "hunter2")
}

// Every figure that the dashboard and the alert rules ask for is one that the service shows.
func TestDashboardsNameExistingMetrics(t *testing.T) {
	t.Parallel()
	known := make(chan *prometheus.Desc, 1000)
	database, drop, err := testenv.New(context.WithoutCancel(t.Context()))
	require.NoError(t, err)
	t.Cleanup(drop)
	address, namespace := temporaltest.Namespace(t) // its worker must not take the others' tasks
	p, _ := apart(t, database, address, namespace)
	p.Ops.Registry.Describe(known)
	close(known)
	names := map[string]bool{}
	for d := range known {
		names[regexp.MustCompile(`fqName: "([^"]+)"`).FindStringSubmatch(d.String())[1]] = true
	}
	for _, file := range []string{"../deploy/grafana/dashboards/countersign.json", "../deploy/prometheus/alerts.yml", "../deploy/prometheus/alerts_test.yml"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		found := regexp.MustCompile(`countersign_[a-z_]+`).FindAllString(string(text), -1)
		require.NotEmpty(t, found)
		for _, name := range found {
			base := regexp.MustCompile(`_(bucket|count|sum)$`).ReplaceAllString(name, "")
			require.True(t, names[name] || names[base], "%s asks for %s", file, name)
		}
	}
}
