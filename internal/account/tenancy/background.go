package tenancy

import (
	"context"
	"errors"
	"fmt"

	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// switchedOff is why a background is retired. It is in events and must not change.
const switchedOff = "switched_off"

// checkBackground returns a validation problem for a choice that does not exist.
func checkBackground(choice models.BackgroundChoice) error {
	switch choice {
	case models.BackgroundPrior, models.BackgroundOwn, models.BackgroundShared:
		return nil
	}
	return problem.Invalid([]any{"body", "background"}, fmt.Sprintf("background is %q: choose prior, own or shared.", choice), "enum")
}

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
