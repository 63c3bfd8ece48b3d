package wiring

import (
	"context"
	"errors"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/workflows"
)

// Histories reads the histories of challenges and holds from Temporal for the audit trail. It shows which steps a run took
// and when; payloads stay sealed, what they say is in Postgres.
type Histories struct {
	Client client.Client
}

// Histories implements audit.Histories.
func (h Histories) Histories(ctx context.Context, challenges, holds []string) ([]audit.WorkflowHistory, error) {
	var ids []string
	for _, id := range challenges {
		ids = append(ids, workflows.ChallengeID(id))
	}
	for _, id := range holds {
		ids = append(ids, workflows.HoldID(id))
	}
	out := make([]audit.WorkflowHistory, 0, len(ids))
	for _, id := range ids {
		one, err := h.history(ctx, id)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

func (h Histories) history(ctx context.Context, id string) (audit.WorkflowHistory, error) {
	out := audit.WorkflowHistory{ID: id, Status: "unknown", Lines: []audit.HistoryEvent{}}
	described, err := h.Client.DescribeWorkflow(ctx, id, "")
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) {
		return out, nil
	}
	if err != nil {
		return out, err
	}
	info := described.RawResponse.GetWorkflowExecutionInfo()
	out.Run, out.Status = info.GetExecution().GetRunId(), info.GetStatus().String()
	events := h.Client.GetWorkflowHistory(ctx, id, out.Run, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		if err != nil {
			return out, err
		}
		if relevant(e.GetEventType()) {
			out.Lines = append(out.Lines, audit.HistoryEvent{At: apitime.Time(e.GetEventTime().AsTime()), Type: e.GetEventType().String(), Detail: detail(e)})
		}
	}
	return out, nil
}

// relevant leaves out the events of Temporal's own task handling.
func relevant(t enums.EventType) bool {
	switch t {
	case enums.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, enums.EVENT_TYPE_WORKFLOW_TASK_STARTED, enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED,
		enums.EVENT_TYPE_ACTIVITY_TASK_STARTED, enums.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES:
		return false
	default:
		return true
	}
}

// detail names what an event is about.
func detail(e *history.HistoryEvent) string {
	switch {
	case e.GetWorkflowExecutionUpdateAcceptedEventAttributes() != nil:
		a := e.GetWorkflowExecutionUpdateAcceptedEventAttributes()
		return a.GetAcceptedRequest().GetInput().GetName() + " " + a.GetAcceptedRequest().GetMeta().GetUpdateId()
	case e.GetWorkflowExecutionUpdateCompletedEventAttributes() != nil:
		a := e.GetWorkflowExecutionUpdateCompletedEventAttributes()
		if failure := a.GetOutcome().GetFailure(); failure != nil {
			return a.GetMeta().GetUpdateId() + " refused"
		}
		return a.GetMeta().GetUpdateId()
	case e.GetMarkerRecordedEventAttributes() != nil:
		return e.GetMarkerRecordedEventAttributes().GetMarkerName()
	case e.GetActivityTaskScheduledEventAttributes() != nil:
		return e.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName()
	case e.GetTimerStartedEventAttributes() != nil:
		return e.GetTimerStartedEventAttributes().GetStartToFireTimeout().AsDuration().String()
	case e.GetWorkflowExecutionSignaledEventAttributes() != nil:
		return e.GetWorkflowExecutionSignaledEventAttributes().GetSignalName()
	case e.GetWorkflowExecutionStartedEventAttributes() != nil:
		return e.GetWorkflowExecutionStartedEventAttributes().GetWorkflowType().GetName()
	default:
		return ""
	}
}
