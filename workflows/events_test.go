package workflows_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/countersign-dev/countersign/internal/testing/testenv/temporaltest"
	"github.com/countersign-dev/countersign/worker"
	"github.com/countersign-dev/countersign/workflows"
)

// Temporal stores every event of a run, so a run must not grow by accident: it has the same events as the newest recording of its
// scenario. Events of workflow tasks are left out, because their number depends on how requests and timers coincide.
func TestRunsRecordTheSameEvents(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"challenge-completed", "hold-approved"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var run []enumspb.EventType
			for _, e := range eventsOf(t, name) {
				run = append(run, e.GetEventType())
			}
			require.ElementsMatch(t, withoutTasks(newest(t, name)), withoutTasks(run))
		})
	}
}

// Temporal stores the ids of updates in the clear, and a caller chooses its request id.
func TestUpdateIDsContainNoRequestID(t *testing.T) {
	t.Parallel()
	updates := 0
	for _, e := range eventsOf(t, "change-rejected-by-its-start") {
		if a := e.GetWorkflowExecutionUpdateAcceptedEventAttributes(); a != nil {
			updates++
			require.NotContains(t, a.GetProtocolInstanceId(), "req_1")
		}
	}
	require.Equal(t, 1, updates)
}

// eventsOf drives a scenario and returns the events of its run.
func eventsOf(t *testing.T, name string) (events []*historypb.HistoryEvent) {
	t.Helper()
	address, namespace := temporaltest.Namespace(t)
	c, err := client.Dial(client.Options{HostPort: address, Namespace: namespace, Logger: quiet{}})
	require.NoError(t, err)
	defer c.Close()
	s := scenarios()[name]()
	w := worker.New(worker.Deps{Temporal: c, Services: s.services})
	require.NoError(t, w.Start())
	defer w.Stop()
	s.drive(t, workflows.NewClient(c, namespace))
	require.NoError(t, c.GetWorkflow(t.Context(), s.id, "").Get(t.Context(), nil))
	for it := c.GetWorkflowHistory(t.Context(), s.id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); it.HasNext(); {
		e, err := it.Next()
		require.NoError(t, err)
		events = append(events, e)
	}
	return events
}

// newest returns the events of the newest recording of a scenario.
func newest(t *testing.T, name string) (types []enumspb.EventType) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(histories, "*", name+".json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	raw, err := os.ReadFile(files[len(files)-1])
	require.NoError(t, err)
	var h historypb.History
	require.NoError(t, protojson.Unmarshal(raw, &h))
	for _, e := range h.GetEvents() {
		types = append(types, e.GetEventType())
	}
	return types
}

func withoutTasks(types []enumspb.EventType) (out []enumspb.EventType) {
	for _, x := range types {
		switch x {
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED, enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED,
			enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED, enumspb.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT:
		default:
			out = append(out, x)
		}
	}
	return out
}
