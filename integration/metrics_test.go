package integration_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/keys"
	"github.com/countersign-dev/countersign/internal/platform/keys/software"

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
	}, "the backlog metrics")
}

// The metrics count rejected frames by reason. The reason is one of the service's codes and nothing that the client sent.
func TestMetricsCountFramesByReason(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	session := w.session(t, w.subject(t), "score", synthetic.NewTypist(1), 1)
	frame := evidence(synthetic.NewTypist(1), "score", time.Now().Add(-time.Minute), 1)
	frame["features"] = object{"schema": "cs-features-2", "note": "hunter2"}
	w.Server.post(t, "/api/v1/sessions/"+session+"/evidence", frame).is(200)

	text := string(w.Server.get(t, "/metrics").is(200).body)
	require.Regexp(t, `countersign_frames_total\{reason="",status="accepted"\} [1-9]`, text)
	require.Regexp(t, `countersign_frames_total\{reason="features_raw_content",status="rejected"\} [1-9]`, text)
	require.NotContains(t, text, "hunter2")
}

// Every metric that the dashboard and the alert rules use exists.
func TestDashboardsNameExistingMetrics(t *testing.T) {
	t.Parallel()
	known := make(chan *prometheus.Desc, 1000)
	database, drop, err := testenv.New(context.WithoutCancel(t.Context()))
	require.NoError(t, err)
	t.Cleanup(drop)
	address, namespace := temporaltest.Namespace(t) // keeps its worker from taking tasks of other tests
	p, _ := separateService(t, database, address, namespace)
	p.Ops.Registry.Describe(known)
	keys.NewGuard(software.Signer{}).Describe(known) // only a process with a backend of signing keys has its metrics
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
			require.True(t, names[name] || names[base], "%s uses %s", file, name)
		}
		if strings.HasSuffix(file, ".json") {
			require.Len(t, regexp.MustCompile(`countersign_[a-z_]+\{environment=~\\"\$environment\\"`).FindAllString(string(text), -1), len(found)-1,
				"the dashboard shows the environment that is chosen")
		}
	}
}

func TestMetricsAreServedAsTextAndJSON(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	w.Server.get(t, "/api/v1/credential").is(200)
	text := w.Server.get(t, "/metrics").is(200)
	require.Contains(t, text.header.Get("Content-Type"), "text/plain")
	require.Contains(t, string(text.body), "# TYPE countersign_http_request_seconds histogram")
	require.Contains(t, string(text.body), `operation="getCredential"`)
	_, action := w.action(t, "enforce", object{"coverage_min": "none"})
	w.authorize(t, w.subject(t), action, "allow")
	text = w.Server.get(t, "/metrics").is(200)
	require.Contains(t, string(text.body), `countersign_decision_seconds_count{decision="allow",mode="enforce"}`)
	require.Contains(t, string(text.body), `countersign_decision_stage_seconds_count{stage="write"}`)

	summary := w.Server.with("Accept", "application/json").get(t, "/metrics").is(200)
	require.Contains(t, summary.header.Get("Content-Type"), "application/json")
	require.Equal(t, "test", summary.string("mode"))
	var figures map[string]any
	summary.into(&figures)
	latency := figures["countersign_http_request_seconds{method=GET}{operation=getCredential}{status=200}"]
	require.NotEmpty(t, latency, fmt.Sprint(figures))
}

// metric returns the value of one metric of the operations port.
func metric(t *testing.T, name string) int {
	t.Helper()
	res, err := http.Get(shared.opsURL + "/metrics")
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\d+)$`).FindSubmatch(text)
	require.NotNil(t, found, name)
	n, err := strconv.Atoi(string(found[1]))
	require.NoError(t, err)
	return n
}

// A tenant sees the figures of its own environment and no one else's.
func TestMetricsAreThoseOfTheEnvironment(t *testing.T) {
	t.Parallel()
	busy, quiet := newSandbox(t), newSandbox(t)
	_, action := busy.action(t, "enforce", object{"coverage_min": "none"})
	busy.authorize(t, busy.subject(t), action, "allow")
	require.Contains(t, string(busy.Server.get(t, "/metrics").is(200).body), `countersign_decision_seconds_count{decision="allow",mode="enforce"} 1`)
	text := string(quiet.Server.get(t, "/metrics").is(200).body)
	require.NotContains(t, text, "countersign_decision_seconds_count")
	require.NotContains(t, text, `operation="authorize"`)
	require.Contains(t, string(quiet.Server.get(t, "/metrics").is(200).body), `countersign_http_request_seconds_count{method="GET",operation="getMetrics",status="200"} 1`)
}

func TestProofKeysAreReadByIssuer(t *testing.T) {
	t.Parallel()
	w, other := newSandbox(t), newSandbox(t)
	kids := func(issuer string) []string {
		var out []string
		path := "/.well-known/service-proof-keys.json"
		if issuer != "" {
			path += "?issuer=" + url.QueryEscape(issuer)
		}
		keys, ok := caller{base: shared.baseURL}.get(t, path).is(200).value("keys").([]any)
		require.True(t, ok)
		for _, k := range keys {
			key, ok := k.(object)
			require.True(t, ok)
			out = append(out, fmt.Sprint(key["kid"]))
		}
		return out
	}
	issuer := func(w world) string { return w.Server.get(t, "/api/v1/credential").is(200).string("proof_issuer") }
	_, action := w.action(t, "enforce", allowing)
	_, theirs := other.action(t, "enforce", allowing)
	w.authorize(t, w.subject(t), action, "allow")
	other.authorize(t, other.subject(t), theirs, "allow")
	own := kids(issuer(w))
	require.NotEmpty(t, own)
	eventually(t, func() bool { return len(kids(issuer(other))) > 0 }, "the other keys are published")
	for _, kid := range kids(issuer(other)) {
		require.NotContains(t, own, kid)
	}
	all := kids("")
	require.Subset(t, all, own)
	require.IsIncreasing(t, all, "the order says nothing about who has which")
	for _, unknown := range []string{"https://elsewhere.example/env_1", shared.baseURL + "/", shared.baseURL + "/" + w.TenantID} {
		require.Empty(t, kids(unknown), unknown)
	}
}
