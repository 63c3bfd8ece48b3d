package workflows_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/testing/testenv/temporaltest"
	"github.com/countersign-dev/countersign/worker"
	"github.com/countersign-dev/countersign/workflows"
)

// histories is where recorded runs are kept, one folder a version of the workflow code that made them. A folder is never
// recorded anew once runs of that version may be waiting anywhere: a change of the code adds a folder.
const histories = "testdata/histories"

var updateHistories = flag.String("update-histories", "",
	"record the scenarios from a real Temporal server into this folder of testdata/histories, e.g. v2")

// Every run ever recorded replays under the code of today: what waits now will go on after the next deploy.
func TestRecordedHistoriesReplay(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(histories, "*", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files, "record some with -update-histories")
	for _, file := range files {
		t.Run(strings.TrimSuffix(strings.TrimPrefix(file, histories+"/"), ".json"), func(t *testing.T) {
			t.Parallel()
			r := sdkworker.NewWorkflowReplayer()
			worker.RegisterWorkflows(r)
			require.NoError(t, r.ReplayWorkflowHistoryFromJSONFile(quiet{}, file))
		})
	}
}

// The replay is no formality: code that does something else at the same place is found out.
func TestReplayFindsAChangedWorkflow(t *testing.T) {
	t.Parallel()
	changed := func(ctx workflow.Context, in challenge.WorkflowInput) (challenge.Outcome, error) {
		if err := workflow.Sleep(ctx, time.Minute); err != nil {
			return challenge.Outcome{}, err
		}
		return workflows.Challenge(ctx, in)
	}
	r := sdkworker.NewWorkflowReplayer()
	r.RegisterWorkflowWithOptions(changed, workflow.RegisterOptions{Name: workflows.NameChallenge})
	require.Error(t, r.ReplayWorkflowHistoryFromJSONFile(quiet{}, filepath.Join(histories, "v1", "challenge-completed.json")))
}

// A run of every kind is recorded, so that no workflow is without replay.
func TestEveryWorkflowIsRecorded(t *testing.T) {
	t.Parallel()
	recorded := map[string]bool{}
	files, err := filepath.Glob(filepath.Join(histories, "*", "*.json"))
	require.NoError(t, err)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		var h historypb.History
		require.NoError(t, protojson.Unmarshal(raw, &h), file)
		recorded[h.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowType().GetName()] = true
	}
	var names registered
	worker.RegisterWorkflows(&names)
	for _, name := range names {
		require.True(t, recorded[name], "no history of %s", name)
	}
}

type registered []string

func (r *registered) RegisterWorkflowWithOptions(_ any, o workflow.RegisterOptions) {
	*r = append(*r, o.Name)
}

func TestRecordHistories(t *testing.T) {
	if *updateHistories == "" {
		t.Skip("-update-histories is not given")
	}
	dir := filepath.Join(histories, *updateHistories)
	require.NoError(t, os.MkdirAll(dir, 0o755))
	for name, prepare := range scenarios() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, namespace := temporaltest.Namespace(t)
			// Payloads in the clear: a recorded history is there to be read, and holds nothing but what a test put in.
			c, err := client.Dial(client.Options{HostPort: address, Namespace: namespace, Logger: quiet{}, Identity: "recorder"})
			require.NoError(t, err)
			defer c.Close()
			s := prepare()
			w := worker.New(worker.Deps{Temporal: c, Services: s.services})
			require.NoError(t, w.Start())
			defer w.Stop()
			if s.start != nil {
				s.start(t, c)
			} else {
				s.drive(t, workflows.NewClient(c, namespace))
			}
			require.NoError(t, c.GetWorkflow(t.Context(), s.id, "").Get(t.Context(), nil))
			record(t, c, s.id, filepath.Join(dir, name+".json"))
		})
	}
}

func record(t *testing.T, c client.Client, id, file string) {
	t.Helper()
	var h historypb.History
	for it := c.GetWorkflowHistory(t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); it.HasNext(); {
		e, err := it.Next()
		require.NoError(t, err)
		h.Events = append(h.Events, e)
	}
	raw, err := protojson.MarshalOptions{Multiline: true, Indent: " "}.Marshal(&h)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, append(raw, '\n'), 0o644))
}
