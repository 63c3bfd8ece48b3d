package countersign

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Error is a refusal by the service: a problem (RFC 9457), or the faults of a request that does not match the API contract (422).
type Error struct {
	Status     int           // HTTP status
	Code       string        // stable name, one of the Code constants; validation_error for faults
	Title      string        // what kind of refusal this is
	Detail     string        // one sentence for the caller
	Faults     []Fault       // of a 422, one a fault
	RequestID  string        // what to quote to the service's operators
	RetryAfter time.Duration // how long to wait before trying again; 0 where the service did not say
}

// Fault is one broken rule of the contract.
type Fault struct {
	Loc  []any  `json:"loc"`  // path to it: "body", a field, an index
	Msg  string `json:"msg"`  // field and rule in words
	Type string `json:"type"` // stable name of the rule
}

// Error gives the code, the sentence and the request id.
func (e *Error) Error() string {
	text := "countersign: " + e.Code
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	for _, f := range e.Faults {
		text += ": " + f.Msg
	}
	return fmt.Sprintf("%s (%d, request %s)", text, e.Status, e.RequestID)
}

// ApprovalRequiredError reports that a change was not made: the environment requires a second approver, and the change waits.
type ApprovalRequiredError struct {
	Change ChangeRequest
}

// Error names the change request and how it is approved.
func (e *ApprovalRequiredError) Error() string {
	return fmt.Sprintf("countersign: the change waits for a second approver: approve %s (ApproveChange) before %s",
		e.Change.ID, e.Change.ExpiresAt.UTC().Format(time.RFC3339))
}

// IsCode reports whether err is a refusal with this code.
func IsCode(err error, code string) bool {
	var refused *Error
	return errors.As(err, &refused) && refused.Code == code
}

// Unavailable reports whether err means that there is no decision: the service could not be reached, did not respond in
// time, reported that it is unavailable, or its response breaks the contract (*ProtocolError). How to proceed is the
// caller's policy; see package protect. A refusal (4xx) is not unavailability, whether by the service or by a proxy: who sends a
// request may be able to cause it, by a quota that is used up (RateLimited) or by content that a firewall rejects.
func Unavailable(err error) bool {
	if RateLimited(err) {
		return false
	}
	var refused *Error
	if errors.As(err, &refused) {
		return refused.Status >= 500
	}
	var garbled *ProtocolError
	if errors.As(err, &garbled) {
		return garbled.Status < 400 || garbled.Status >= 500
	}
	var gone *lost
	return errors.As(err, &gone)
}

// RateLimited reports whether a quota or rate limit refused the call (429), or refused an attempt after which no response was
// received. Refuse such a request, and never go on without a decision: an attacker who can cause requests can use up a quota.
func RateLimited(err error) bool {
	var refused *Error
	if errors.As(err, &refused) {
		return refused.Status == http.StatusTooManyRequests
	}
	var garbled *ProtocolError // a proxy's limit
	return errors.As(err, &garbled) && garbled.Status == http.StatusTooManyRequests
}

// lost is a try without a response, so that it is unknown whether the operation was carried out.
type lost struct{ error }

func (l *lost) Unwrap() error { return l.error }

var codeForm = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// refusal reads a problem, or the faults of a 422; anything else is a refusal by something in between.
func refusal(operation string, res *http.Response, text []byte) error {
	e := &Error{Status: res.StatusCode, RequestID: res.Header.Get("X-Request-Id"), RetryAfter: retryAfter(res.Header)}
	isJSON := mediaType(res) == "application/problem+json" || mediaType(res) == "application/json"
	if isJSON && res.StatusCode == http.StatusUnprocessableEntity && check(&rule{Ref: "HTTPValidationError"}, text) == nil {
		var body struct{ Detail []Fault }
		if json.Unmarshal(text, &body) == nil && len(body.Detail) > 0 {
			e.Code, e.Title, e.Faults = CodeValidationError, "The request does not match the API contract", body.Detail
			return e
		}
	}
	loose := *contract().Schemas["Problem"]
	loose.Required = []string{"code"} // what distinguishes a refusal from a damaged one
	var body struct {
		Code, Title, Detail string
		Status              int
	}
	if !isJSON || check(&loose, text) != nil || json.Unmarshal(text, &body) != nil || !codeForm.MatchString(body.Code) ||
		(body.Status != 0 && body.Status != res.StatusCode) {
		return notUnderstood(operation, res, "a refusal that the service does not give", nil)
	}
	e.Code, e.Title, e.Detail = body.Code, body.Title, body.Detail
	return e
}

// longestWait in seconds stands for any longer time that a Retry-After names.
const longestWait = 999_999_999

// retryAfter reads seconds, the form the service uses, or an HTTP date, the form a proxy may use.
func retryAfter(h http.Header) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if value != "" && strings.Trim(value, "0123456789") == "" {
		seconds, err := strconv.Atoi(value)
		if err != nil || seconds > longestWait {
			seconds = longestWait
		}
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}

// Pauses between tries: doubling from the first, with full jitter, and never above the longest. A Retry-After above the
// longest is the caller's to wait for.
const (
	firstPause   = 100 * time.Millisecond
	longestPause = 5 * time.Second
)

// again decides whether a failed try may be repeated, and after what pause. 429 and 503 changed nothing. After a lost
// or invalid response the outcome is unknown, so only repeatable requests are sent again.
func again(r request, err error, try int) (time.Duration, bool) {
	pause := rand.N(min(firstPause<<min(try, 10), longestPause)) // #nosec G404 -- jitter
	var refused *Error
	if errors.As(err, &refused) {
		switch refused.Status {
		case http.StatusTooManyRequests, http.StatusServiceUnavailable:
			return max(pause, refused.RetryAfter), refused.RetryAfter <= longestPause
		case http.StatusBadGateway, http.StatusGatewayTimeout:
			return pause, r.repeatable()
		}
		return 0, refused.Code == CodeIdempotencyInFlight
	}
	var garbled *ProtocolError
	if errors.As(err, &garbled) {
		refusal := garbled.Status >= 300 && garbled.Status < 500 && garbled.Status != http.StatusTooManyRequests // or a redirect
		return max(pause, garbled.RetryAfter), r.repeatable() && !refusal && garbled.RetryAfter <= longestPause
	}
	var gone *lost
	return pause, errors.As(err, &gone) && r.repeatable()
}
