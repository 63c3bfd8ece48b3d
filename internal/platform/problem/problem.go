// Package problem defines the typed error of the domain and the catalogue of its codes. Services return these errors; only the
// HTTP handlers convert them to a response (RFC 9457 problem details, or the validation body of a 422), and only the activities
// convert them to Temporal errors.
//
// The package may not know HTTP frameworks or storage. A Detail is shown to the caller: it must never contain a secret, a stack
// trace, SQL or another tenant's data.
package problem

import (
	"errors"
	"fmt"
	"time"
)

// Error refuses a request with a stable code and a sentence for the caller. It may wrap the error that caused it.
type Error struct {
	Code Code
	// One sentence for the caller.
	Detail string
	Fields []Field // what a 422 lists
	// Parameter is the name of the parameter of a not_found; empty if the service cannot say which one.
	Parameter string
	// For rate_limited and unavailable.
	RetryAfter time.Duration
	Cause      error // logged, never shown
}

// Field is one item of a validation error. Loc is the path to the value, such as ["body", "events", 0]; Msg is shown to the
// caller; Type is the stable name of the rule.
type Field struct {
	Loc  []any  `json:"loc"`
	Msg  string `json:"msg"`
	Type string `json:"type"`
}

// Error returns code, detail and cause for the log. It is never shown to the caller.
func (e *Error) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Detail, e.Cause)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Detail)
}

// Unwrap returns the cause, for errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.Cause }

// New returns an error with a code and a sentence for the caller.
func New(code Code, detail string) *Error { return &Error{Code: code, Detail: detail} }

// Newf is New with a format. The arguments are shown to the caller: format only values that the caller sent or may read.
func Newf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// NewNotFound returns the error for a resource that does not exist or that the caller may not see. Both cases return the same
// bytes, so that a response reveals nothing about another tenant.
func NewNotFound() *Error {
	return &Error{Code: NotFound, Detail: "No such resource exists in this environment."}
}

// NotFoundBy is NewNotFound for a resource that the named parameter of the request identifies. The detail depends on the name alone. For what a
// relying party creates before its first decision, it says how.
func NotFoundBy(parameter string) *Error {
	return &Error{Code: NotFound, Parameter: parameter,
		Detail: "No such resource exists in this environment: check " + parameter + "." + creations[parameter]}
}

// creations says how what a first decision needs is created, by the name of its parameter.
var creations = map[string]string{
	"subject": createSubject, "subject_id": createSubject, "action": createAction, "action_id": createAction,
	"session": " Create a session for each visit of a subject: POST /api/v1/sessions, createSession in the SDKs.",
}

const (
	createSubject = " Create a subject once for each of your users, before its first decision: POST /api/v1/subjects, createSubject in the SDKs."
	createAction  = " Create an action once: POST /api/v1/actions, createAction in the SDKs, or New action in the console, under Policies."
)

// Invalid returns a validation error of one field.
func Invalid(loc []any, msg, typ string) *Error {
	return InvalidFields([]Field{{Loc: loc, Msg: msg, Type: typ}})
}

// InvalidFields returns a validation error of several fields.
func InvalidFields(fields []Field) *Error {
	return &Error{Code: Unprocessable, Detail: "The request does not match the API contract.", Fields: fields}
}

// NewUnavailable returns the error for a part of the service that cannot be reached. It promises that nothing was changed, so the
// caller can retry after RetryAfter.
func NewUnavailable(detail string, cause error) *Error {
	return &Error{Code: Unavailable, Detail: detail, Cause: cause, RetryAfter: 2 * time.Second}
}

// As finds the domain error in a chain of wrapped errors; nil if it has none.
func As(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}

// Is reports whether err is, or wraps, a domain error with the code.
func Is(err error, code Code) bool {
	e := As(err)
	return e != nil && e.Code == code
}
