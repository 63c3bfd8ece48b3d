package activities

import (
	"errors"
	"fmt"

	"go.temporal.io/sdk/temporal"

	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// Fault is the type of an error that says nothing about the request: something could not be reached or went wrong on
// our side. A workflow never answers with it, it tries again.
const Fault = "fault"

// toTemporal turns a service's error into Temporal's: a refusal of the domain keeps its code as the error's type and is
// final; everything else is a fault and is tried again. Only the sentence meant for the caller travels, never the
// chain of causes.
func toTemporal(err error) error {
	if err == nil {
		return nil
	}
	if p := problem.As(err); p != nil && p.Code != problem.Unavailable && p.Code != problem.Internal {
		return Refuse(p.Code, p.Detail)
	}
	// The type of the innermost error tells an operator where to look; its text may repeat values of a row.
	return temporal.NewApplicationError(fmt.Sprintf("the step could not be done (%T); the worker's log has the error", root(err)), Fault)
}

func root(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}

// Refuse is the error of a refusal: final, typed by the problem code the caller gets, and no alarm to operators.
func Refuse(code problem.Code, detail string) error {
	return temporal.NewApplicationErrorWithOptions(detail, string(code), temporal.ApplicationErrorOptions{
		NonRetryable: true, Category: temporal.ApplicationErrorCategoryBenign,
	})
}

// Refusal reports the problem code of an error that Refuse made, here or in another process; false for faults, time-outs
// and panics. It looks at the error alone: a workflow that replays must find what it found before.
func Refusal(err error) (code problem.Code, detail string, ok bool) {
	var app *temporal.ApplicationError
	if !errors.As(err, &app) || !app.NonRetryable() || app.Type() == Fault {
		return "", "", false
	}
	return problem.Code(app.Type()), app.Message(), true
}
