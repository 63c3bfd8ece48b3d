package consolequery_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/delivery/consolequery"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func TestJudgeFindsWorkThatWaitsTooLong(t *testing.T) {
	t.Parallel()
	late := func(count int64, age time.Duration) consolequery.Late {
		since := noon.Add(-age)
		return consolequery.Late{Count: count, Since: &since}
	}
	oldest := noon.Add(-37 * time.Hour)
	for name, c := range map[string]struct {
		in   consolequery.Queues
		kind string
		want consolequery.Severity
	}{
		"nothing waits":                           {consolequery.Queues{}, consolequery.KindEndpoints, consolequery.Fine},
		"an endpoint fails for a minute":          {consolequery.Queues{Failing: late(1, time.Minute)}, consolequery.KindEndpoints, consolequery.Delayed},
		"an endpoint fails for longer":            {consolequery.Queues{Failing: late(2, 6*time.Minute)}, consolequery.KindEndpoints, consolequery.Broken},
		"deliveries are due for a minute":         {consolequery.Queues{Due: late(104, time.Minute)}, consolequery.KindDeliveries, consolequery.Fine},
		"deliveries are due for longer":           {consolequery.Queues{Due: late(104, 6*time.Minute)}, consolequery.KindDeliveries, consolequery.Broken},
		"a workflow start waits":                  {consolequery.Queues{Outbox: []consolequery.Backlog{{Topic: "hold.start", Waiting: 1, Oldest: noon.Add(-2 * time.Minute)}}}, consolequery.KindOutbox, consolequery.Broken},
		"a timer is late":                         {consolequery.Queues{Overdue: late(1, 11*time.Minute)}, consolequery.KindTimers, consolequery.Broken},
		"a timer fired a little late":             {consolequery.Queues{Overdue: late(1, time.Minute)}, consolequery.KindTimers, consolequery.Fine},
		"entries are not sealed":                  {consolequery.Queues{Chain: consolequery.AuditChainStatus{Unsealed: 1, Oldest: &oldest}}, consolequery.KindAudit, consolequery.Broken},
		"a destination is behind for longer":      {consolequery.Queues{Exports: late(9, 6*time.Minute)}, consolequery.KindExports, consolequery.Broken},
		"a hold waits for a reviewer for so long": {consolequery.Queues{Holds: hold.QueueCounts{Pending: 1, OldestOpenedAt: &oldest}}, consolequery.KindHolds, consolequery.Delayed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.in.Now = noon
			for _, f := range c.in.Judge() {
				if f.Kind == c.kind {
					require.Equal(t, c.want, f.Severity)
				} else {
					require.Equal(t, consolequery.Fine, f.Severity, f.Kind)
				}
			}
		})
	}
}

// The console judges by the ages of the alerts.
func TestLimitsMatchAlerts(t *testing.T) {
	t.Parallel()
	alerts, err := os.ReadFile("../../../deploy/prometheus/alerts.yml")
	require.NoError(t, err)
	for _, c := range []struct {
		metric string
		limit  time.Duration
	}{
		{`{kind="outbox",topic!~"event|notice.*|address[.]code"}`, consolequery.LateOutbox},
		{`{kind="endpoints_failing"}`, consolequery.LateEndpoint},
		{`{kind="deliveries"}`, consolequery.LateDelivery},
		{`{kind=~"challenges_overdue|holds_overdue|changes_overdue|evaluations_overdue"}`, consolequery.LateTimer},
		{`{kind="holds"}`, consolequery.LateHold},
		{`{kind="unsealed"}`, consolequery.LateSeal},
		{`{kind="exports"}`, consolequery.LateExport},
	} {
		require.Contains(t, string(alerts), fmt.Sprintf("max(countersign_backlog_oldest_seconds%s) > %.0f\n", c.metric, c.limit.Seconds()))
	}
}
