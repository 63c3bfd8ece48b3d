// Package problem is the one typed error of the domain and the catalogue of its codes. Services return these
// errors; only the HTTP edge turns them into an answer (RFC 9457, or the validation body of SPEC section 7), and
// only the activities turn them into Temporal errors. The package must not know HTTP frameworks or storage, and
// a Detail must never carry a secret, a stack, SQL or another tenant's data: it is shown to the caller.
package problem

import (
	"errors"
	"fmt"
	"time"
)

// Error is a refusal with a stable code and a sentence for the caller.
type Error struct {
	Code       Code
	Detail     string        // one sentence for the caller
	Fields     []Field       // what a 422 lists
	RetryAfter time.Duration // for rate_limited and unavailable
	Cause      error         // logged, never shown
}

// Field is one item of a validation error: where, what is wrong, and the rule's stable name.
type Field struct {
	Loc  []any  `json:"loc"`
	Msg  string `json:"msg"`
	Type string `json:"type"`
}

func (e *Error) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Detail, e.Cause)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Detail)
}

// Unwrap gives the cause to errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.Cause }

// New makes an error with a code and a sentence.
func New(code Code, detail string) *Error { return &Error{Code: code, Detail: detail} }

// Newf is New with a format.
func Newf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// Absent is the one answer for what does not exist or is not the caller's to see. Its bytes do not depend on which.
func NewNotFound() *Error {
	return &Error{Code: NotFound, Detail: "There is no such resource in this environment."}
}

// Invalid is a validation error of one field.
func Invalid(loc []any, msg, typ string) *Error {
	return InvalidFields([]Field{{Loc: loc, Msg: msg, Type: typ}})
}

// InvalidFields is a validation error of several fields.
func InvalidFields(fields []Field) *Error {
	return &Error{Code: Unprocessable, Detail: "The request breaks the contract.", Fields: fields}
}

// Away says that a part of the service cannot be reached and that nothing was changed.
func NewUnavailable(detail string, cause error) *Error {
	return &Error{Code: Unavailable, Detail: detail, Cause: cause, RetryAfter: 2 * time.Second}
}

// As finds the domain error in a chain; nil where there is none.
func As(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}

// Is reports whether err carries the code.
func Is(err error, code Code) bool {
	e := As(err)
	return e != nil && e.Code == code
}
