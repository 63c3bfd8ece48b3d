package tenancy

import (
	"context"
	"errors"

	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// switchedOff is why a background is retired. It is in events and must not change.
const switchedOff = "switched_off"

// forgetLearned deletes the sums of an environment that has stopped learning and retires its backgrounds.
func forgetLearned(ctx context.Context, q *pg.Q, by events.Entry) error {
	for _, modality := range []string{"keystroke", "pointer"} {
		if err := ResetLearned(ctx, q, by.Scope, modality); err != nil {
			return err
		}
		version, err := RetireLearned(ctx, q, by.Scope, modality, by.At)
		if errors.Is(err, pg.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		by.Data = events.BackgroundOwnRetiredData{Background: version, Modality: modality, Reason: switchedOff}
		if err := events.Append(ctx, q, by); err != nil {
			return err
		}
	}
	return nil
}
