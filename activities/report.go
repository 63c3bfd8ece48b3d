package activities

import (
	"context"
	"encoding/hex"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// report maps a service's error to Temporal's and logs a fault, whose cause does not travel.
func report(ctx context.Context, log *slog.Logger, err error) error {
	mapped := toTemporal(err)
	if _, _, refused := Refusal(mapped); !refused && log != nil {
		info := activity.GetInfo(ctx)
		log.WarnContext(ctx, "activity failed", "activity", info.ActivityType.Name, "workflow", info.WorkflowExecution.ID,
			"attempt", info.Attempt, "error", err)
	}
	return mapped
}

// digest reads a hex digest out of a payload. Only a bug can make one that cannot be read, and no retry mends it.
func digest(s string) ([]byte, error) {
	raw, err := hex.DecodeString(s)
	if err != nil {
		return nil, Refuse(problem.Conflict, "The request's digest is not hex.")
	}
	return raw, nil
}

// moment is a workflow's time as Postgres keeps it: to the microsecond, so that what is answered and what is read later are
// the same.
func moment(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }
