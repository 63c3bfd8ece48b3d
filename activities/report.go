package activities

import (
	"context"
	"encoding/hex"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// report maps a service's error to Temporal's. It logs a fault, whose cause the mapped error does not contain.
func report(ctx context.Context, log *slog.Logger, err error) error {
	mapped := toTemporal(err)
	if _, _, refused := Refusal(mapped); !refused && log != nil {
		info := activity.GetInfo(ctx)
		log.WarnContext(ctx, "activity failed", "activity", info.ActivityType.Name, "workflow", info.WorkflowExecution.ID,
			"attempt", info.Attempt, "error", err)
	}
	return mapped
}

// digest decodes the hex digest of a payload. Only a defect can produce an invalid one, so a retry is of no use.
func digest(s string) ([]byte, error) {
	raw, err := hex.DecodeString(s)
	if err != nil {
		return nil, Refuse(problem.Conflict, "The digest of the request is not hexadecimal.")
	}
	return raw, nil
}

// moment truncates a workflow's time to the microseconds that Postgres stores, so that what is returned now equals what is read
// later.
func moment(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }
