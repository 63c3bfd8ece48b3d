package integration_test

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheWorkersShowWhatWaits(t *testing.T) {
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
