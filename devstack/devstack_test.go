package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	updatepb "go.temporal.io/api/update/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const namespace = "countersign"

var kindAttribute = []string{"--search-attribute", "Kind=Keyword"}

func dial(tb testing.TB, p *process) *frontend {
	tb.Helper()
	f, err := dialFrontend(p.Frontend)
	require.NoError(tb, err)
	tb.Cleanup(f.close)
	return f
}

func startRequest(id string) *workflowservice.StartWorkflowExecutionRequest {
	return &workflowservice.StartWorkflowExecutionRequest{
		Namespace:    namespace,
		WorkflowId:   id,
		WorkflowType: &commonpb.WorkflowType{Name: "Nothing"},
		TaskQueue:    &taskqueuepb.TaskQueue{Name: "no-worker"},
		RequestId:    id,
		SearchAttributes: &commonpb.SearchAttributes{IndexedFields: map[string]*commonpb.Payload{
			"Kind": {
				Metadata: map[string][]byte{"encoding": []byte("json/plain"), "type": []byte("Keyword")},
				Data:     []byte(`"` + id + `"`),
			},
		}},
	}
}

// found waits until the visibility store lists one workflow of kind id.
func found(t *testing.T, f *frontend, id string) {
	t.Helper()
	require.Eventually(t, func() bool {
		count, err := f.workflow.CountWorkflowExecutions(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{
			Namespace: namespace, Query: "Kind = '" + id + "'",
		})
		return err == nil && count.GetCount() == 1
	}, patience, 50*time.Millisecond)
}

func TestDevstack_StartsSearchableWorkflowOnceReady(t *testing.T) {
	t.Parallel()
	mainDB, visibilityDB := freshNames(t)
	f := dial(t, start(t, mainDB, visibilityDB, kindAttribute...))
	_, err := f.workflow.StartWorkflowExecution(t.Context(), startRequest("first"))
	require.NoError(t, err)
	found(t, f, "first")
}

func TestDevstack_KeepsDataAfterKill(t *testing.T) {
	t.Parallel()
	mainDB, visibilityDB := freshNames(t)
	p := start(t, mainDB, visibilityDB, kindAttribute...)
	_, err := dial(t, p).workflow.StartWorkflowExecution(t.Context(), startRequest("kept"))
	require.NoError(t, err)
	require.NoError(t, p.cmd.Process.Kill())
	<-p.exited

	f := dial(t, start(t, mainDB, visibilityDB, kindAttribute...))
	description, err := f.workflow.DescribeWorkflowExecution(t.Context(), &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: namespace, Execution: &commonpb.WorkflowExecution{WorkflowId: "kept"},
	})
	require.NoError(t, err)
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, description.GetWorkflowExecutionInfo().GetStatus())
	found(t, f, "kept")
}

func TestDevstack_RecoversFromLostPostgresConnections(t *testing.T) {
	t.Parallel()
	mainDB, visibilityDB := freshNames(t)
	f := dial(t, start(t, mainDB, visibilityDB, kindAttribute...))
	conn, err := pgx.Connect(t.Context(), postgresURL(t))
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.Background()) }()
	_, err = conn.Exec(t.Context(),
		`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname IN ($1, $2)`, mainDB, visibilityDB)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := f.workflow.StartWorkflowExecution(t.Context(), startRequest("after"))
		return err == nil
	}, patience, 50*time.Millisecond)
	found(t, f, "after")
}

func TestDevstack_ServesUpdateWithStart(t *testing.T) {
	t.Parallel()
	mainDB, visibilityDB := freshNames(t)
	f := dial(t, start(t, mainDB, visibilityDB, kindAttribute...))
	request := startRequest("updated")
	request.WorkflowIdConflictPolicy = enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := f.workflow.ExecuteMultiOperation(ctx, &workflowservice.ExecuteMultiOperationRequest{
		Namespace: namespace,
		Operations: []*workflowservice.ExecuteMultiOperationRequest_Operation{
			{Operation: &workflowservice.ExecuteMultiOperationRequest_Operation_StartWorkflow{StartWorkflow: request}},
			{Operation: &workflowservice.ExecuteMultiOperationRequest_Operation_UpdateWorkflow{
				UpdateWorkflow: &workflowservice.UpdateWorkflowExecutionRequest{
					Namespace:         namespace,
					WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: "updated"},
					WaitPolicy: &updatepb.WaitPolicy{
						LifecycleStage: enumspb.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_ACCEPTED,
					},
					Request: &updatepb.Request{
						Meta:  &updatepb.Meta{UpdateId: "u1"},
						Input: &updatepb.Input{Name: "nothing"},
					},
				},
			}},
		},
	})
	// No worker accepts the update, so the call ends at its deadline; a rejection would return at once.
	require.Equal(t, codes.DeadlineExceeded.String(), status.Code(err).String(), "%v", err)
	found(t, f, "updated")
}

func TestDevstack_ServesUIOnBothAddressFamilies(t *testing.T) {
	t.Parallel()
	mainDB, visibilityDB := freshNames(t)
	p := start(t, mainDB, visibilityDB, "--namespace", "first", "--namespace", "second",
		"--codec-endpoint", "http://localhost:1/codec")
	port := strings.TrimPrefix(p.UI, "http://localhost:")
	hosts := []string{loopback}
	if hasIPv6() {
		hosts = append(hosts, "[::1]")
	}
	for _, host := range hosts {
		base := "http://" + host + ":" + port
		require.Contains(t, get(t, base+"/"), "<html")
		namespaces := get(t, base+"/api/v1/namespaces")
		require.Contains(t, namespaces, `"first"`)
		require.Contains(t, namespaces, `"second"`)
		settings := get(t, base+"/api/v1/settings")
		require.Contains(t, settings, "http://localhost:1/codec")
		require.Contains(t, settings, `"DefaultNamespace":"first"`)
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode, "%s", body)
	return string(body)
}

func TestDevstack_ShutsDownOnSignal(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			mainDB, visibilityDB := freshNames(t)
			p := start(t, mainDB, visibilityDB)
			require.NoError(t, p.cmd.Process.Signal(signal))
			code, printed := p.wait(t)
			require.Zero(t, code, printed)
			require.Equal(t, 1, strings.Count(printed, "\n"), "only the ready line is printed: %s", printed)
		})
	}
}

func TestDevstack_RefusesSecondInstanceOnSameDatabase(t *testing.T) {
	t.Parallel()
	mainDB, visibilityDB := freshNames(t)
	start(t, mainDB, visibilityDB)
	code, printed := launch(t, mainDB, visibilityDB).wait(t)
	require.Equal(t, 1, code)
	require.Contains(t, printed, "another devstack is running")
}

func TestDevstack_RefusesChangedSearchAttributeType(t *testing.T) {
	t.Parallel()
	mainDB, visibilityDB := freshNames(t)
	p := start(t, mainDB, visibilityDB, kindAttribute...)
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	p.wait(t)
	code, printed := launch(t, mainDB, visibilityDB, "--search-attribute", "Kind=Int").wait(t)
	require.Equal(t, 1, code)
	require.Contains(t, printed, "Kind is registered as Keyword, not as Int")
}
