package activities

import (
	"errors"
	"fmt"

	"go.temporal.io/sdk/temporal"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// Fault is the type of an error that says nothing about the request: a dependency is unavailable, or the service has a defect.
// A workflow retries after it and never returns it to a caller.
const Fault = "fault"

// altered is the type of an error after which a retry is of use only once a person has repaired a record (pg.Altered).
const altered = "altered"

// toTemporal maps a service's error to one of Temporal. A refusal keeps its problem code as the error's type and is final;
// an altered record is final for
// the activity; everything else is a Fault and is retried. The error contains the detail meant for the caller, never the chain of causes,
// which may repeat values of a row.
func toTemporal(err error) error {
	if err == nil {
		return nil
	}
	if p := problem.As(err); p != nil && p.Code != problem.Unavailable && p.Code != problem.Internal {
		return Refuse(p.Code, p.Detail)
	}
	var row *pg.Altered
	if errors.As(err, &row) {
		return temporal.NewNonRetryableApplicationError("a stored record that the step rests on was changed outside of the service", altered, nil)
	}
	// The type of the innermost error shows an operator where to look.
	return temporal.NewApplicationError(fmt.Sprintf("the step failed (%T); see the worker's log for the error", root(err)), Fault)
}

// root returns the innermost error of a chain.
func root(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}

// Refuse returns the error of a refusal: final, with the problem code as its type, and benign, so that it raises no alarm.
func Refuse(code problem.Code, detail string) error {
	return temporal.NewApplicationErrorWithOptions(detail, string(code), temporal.ApplicationErrorOptions{
		NonRetryable: true, Category: temporal.ApplicationErrorCategoryBenign,
	})
}

// Refusal returns the problem code and detail of an error that Refuse made, in this or another process. It returns false for
// faults, timeouts and panics. It depends on the error alone, because workflow code calls it and must be deterministic.
func Refusal(err error) (code problem.Code, detail string, ok bool) {
	var app *temporal.ApplicationError
	if !errors.As(err, &app) || !app.NonRetryable() || app.Type() == Fault || app.Type() == altered {
		return "", "", false
	}
	return problem.Code(app.Type()), app.Message(), true
}

// Altered reports whether an activity failed because a record that it rests on was changed outside of the service. It depends on the error alone.
func Altered(err error) bool {
	var app *temporal.ApplicationError
	return errors.As(err, &app) && app.Type() == altered
}
