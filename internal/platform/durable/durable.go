// Package durable defines the errors by which a durable workflow reports what became of a request, so that a use case can
// handle them without knowing Temporal. It imports nothing of the product; package workflows returns these errors.
package durable

import "errors"

var (
	// ErrClosed reports that the workflow run had closed before the request reached it. The database has the outcome, which
	// may be that of this very request: an earlier attempt may have succeeded and its response been lost.
	ErrClosed = errors.New("the workflow run has closed")

	// ErrAccepted reports that the workflow run has accepted the request and will finish it, but not within the time the
	// caller could wait. It is the cause of a problem with the code unavailable; repeating the request returns the outcome.
	ErrAccepted = errors.New("the workflow run has accepted the request and not finished it")
)

// HasClosed reports whether the workflow run of a record has closed after a move that settles it had this result. A workflow closes after
// it has settled the record: if the record is open then, it was restored to an earlier point than its workflow, and needs a new run.
func HasClosed(result error) bool { return result == nil || errors.Is(result, ErrClosed) }
